//! What is said about records of processes: the only place that knows the order of KEYS and ARGV.

use std::{collections::BTreeMap, sync::Arc};

use super::{entries::Writing, identity::ProcessIdentity};
use crate::wire::{Call, Items, Malformed, Script, ScriptText, Words, script};

static WRITE: Script = script!("presence/write", 0, "write.lua");
static READ: Script = script!("presence/read", 0, "read.lua");

/// Every script of this room.
pub(crate) static SCRIPTS: [&Script; 2] = [&WRITE, &READ];

/// Writes a record.
#[derive(Debug, Clone)]
pub(super) struct WriteRecord {
    pub(super) at: Arc<str>,
    pub(super) identity: Arc<ProcessIdentity>,
    pub(super) writing: Arc<Writing>,
}

impl Call for WriteRecord {
    type Reply = ();

    fn script(&self) -> ScriptText<'_> {
        WRITE.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn leaves_out_time(&self, _items: &Items) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        let (fields, Writing { holds, ended }) = (&self.identity.fields, &*self.writing);
        to.count(1).word(&*self.at).int(TTL_MS).count(2 * fields.len());
        for (name, value) in fields {
            to.word(&**name).word(value);
        }
        to.count(2 * holds.len());
        for (number, age) in holds {
            to.word(number.to_string()).word(age.as_micros().to_string());
        }
        for number in ended {
            to.word(number.to_string());
        }
    }

    fn decode(&self, _items: Items) -> Result<(), Malformed> {
        Ok(())
    }
}

/// What a record says: the server's time in µs, since when the hold in question is held, if that is told, and the fields.
pub(super) type ToldProcess = Option<(i64, Option<i64>, BTreeMap<String, String>)>;

/// Asks for a record, and for one hold in it.
#[derive(Debug, Clone)]
pub(super) struct ReadRecord {
    pub(super) at: Arc<str>,
    pub(super) number: Arc<str>,
}

impl Call for ReadRecord {
    type Reply = ToldProcess;

    fn script(&self) -> ScriptText<'_> {
        READ.text()
    }

    fn asks_for_a_list(&self) -> bool {
        true
    }

    fn leaves_out_time(&self, _items: &Items) -> bool {
        true
    }

    fn write(&self, to: &mut Words) {
        to.count(1).word(&*self.at).word(&*self.number);
    }

    fn decode(&self, mut items: Items) -> Result<ToldProcess, Malformed> {
        let now = items.int()?;
        if items.is_empty() {
            return Ok(None);
        }
        let since = Some(items.int()?).filter(|since| *since > 0);
        let mut fields = BTreeMap::new();
        while !items.is_empty() {
            fields.insert(items.text()?, items.text()?);
        }
        Ok(Some((now, since, fields)))
    }
}

/// For how long a record stands that is not written again.
const TTL_MS: i64 = 90_000;
