//! A real PostgreSQL server for a test.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, Config, NoTls};

/// A server in a folder of its own that listens at a unix socket there and at no port. It ends on drop.
#[derive(Debug)]
pub struct PostgresServer {
    process: Child,
    folder: TempDir,
}

impl PostgresServer {
    /// Makes a cluster and starts a server on it. Returns when it can be asked.
    ///
    /// # Panics
    /// There is no PostgreSQL here (`cargo xtask test` installs it), or it does not start.
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("palisade-postgres-")
            .tempdir()
            .expect("a folder can be made");
        give_away(folder.path());
        let data = folder.path().join("data");
        let made = as_its_user("initdb")
            .args(["--auth=trust", "--username=palisade", "--no-sync", "--pgdata"])
            .arg(&data)
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .status();
        assert!(made.expect("initdb can be run").success(), "initdb made no cluster");
        let process = as_its_user("postgres")
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .arg("-D")
            .arg(&data)
            .current_dir(folder.path())
            .stderr(fs::File::create(folder.path().join("log")).expect("a log can be written"))
            .spawn()
            .expect("postgres can be run");
        let server = Self { process, folder };
        drop(server.connect().await);
        server
    }

    /// A connection of its own, as soon as the server takes one.
    ///
    /// # Panics
    /// The server does not answer; the text has its log.
    pub async fn connect(&self) -> Client {
        let mut config = Config::new();
        config.host_path(self.folder.path()).user("palisade").dbname("postgres");
        let connecting = async {
            loop {
                match config.connect(NoTls).await {
                    Ok(connected) => return connected,
                    Err(_) => sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let Ok((client, connection)) = timeout(HANG, connecting).await else {
            let log = fs::read_to_string(self.folder.path().join("log"));
            panic!("postgres takes no connection: {}", log.unwrap_or_default());
        };
        tokio::spawn(connection);
        client
    }

    /// Returns when some session waits for another's transaction.
    ///
    /// # Panics
    /// None comes to wait.
    pub async fn some_session_waits(&self) {
        let client = self.connect().await;
        let waiting = async {
            while client
                .query("SELECT 1 FROM pg_locks WHERE NOT granted", &[])
                .await
                .expect("it can be asked")
                .is_empty()
            {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(HANG, waiting).await.expect("a session waits");
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // An immediate end, of its children too: SIGKILL would leave them behind.
        let asked = kill_process(Pid::from_child(&self.process), Signal::QUIT);
        if asked.is_ok() {
            self.process.wait().ok();
        }
    }
}

/// Beyond this a server hangs.
const HANG: Duration = Duration::from_secs(60);

/// PostgreSQL refuses to run as root: there it runs as the user that the system's package made.
fn as_its_user(program: &str) -> Command {
    let program = folder_of_programs().join(program);
    if !geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

/// Lets that user write here.
fn give_away(folder: &Path) {
    if geteuid().is_root() {
        let home = fs::metadata("/var/lib/postgresql").expect("the package's user has a home");
        chown(folder, Some(home.uid()), Some(home.gid())).expect("root can give a folder away");
    }
}

/// `PALISADE_POSTGRES_BIN`, a folder of the PATH, or the newest of the system's package, which keeps its servers off the PATH.
fn folder_of_programs() -> PathBuf {
    if let Some(named) = env::var_os("PALISADE_POSTGRES_BIN") {
        return named.into();
    }
    let on_the_path =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let packaged = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut packaged: Vec<_> = packaged.map(|version| version.path().join("bin")).collect();
    packaged.sort();
    let has_server =
        |folder: &PathBuf| folder.join("initdb").exists() && folder.join("postgres").exists();
    let found = on_the_path.into_iter().chain(packaged.into_iter().rev()).find(has_server);
    found.expect("PostgreSQL's initdb and postgres are installed (`cargo xtask test` installs them), or named in PALISADE_POSTGRES_BIN")
}
