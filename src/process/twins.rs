//! Names that share keys with each other, as far as this process uses both. Pure.
//!
//! Redisson puts a name in braces where it makes other keys of it, unless there are some: the queue of `x` is
//! that of `{x}`, though the locks are two.

use std::{collections::BTreeMap, sync::Arc};

use crate::{error::NodeId, wire::key};

/// Which of two such names is used, by server, sort of lock, and what stands in the braces.
#[derive(Debug, Default)]
pub(crate) struct Twins(BTreeMap<(NodeId, &'static str, Arc<str>), bool>);

impl Twins {
    /// Takes note that a name is used. Its twin, if that is used.
    pub(crate) fn meet(
        &mut self,
        node: &NodeId,
        sort: &'static str,
        name: &Arc<str>,
    ) -> Option<String> {
        let inner = key::in_braces(name);
        let is_braced = inner.is_some();
        let id = (node.clone(), sort, inner.map_or_else(|| name.clone(), Arc::from));
        match self.0.get(&id) {
            Some(known) if *known == is_braced => None,
            Some(_) => Some(if is_braced { id.2.to_string() } else { format!("{{{name}}}") }),
            None => {
                // Of very many names all are forgotten: this finds mistakes, and is no promise.
                if self.0.len() >= MOST {
                    self.0.clear();
                }
                self.0.insert(id, is_braced);
                None
            }
        }
    }
}

const MOST: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_and_the_same_in_braces_are_twins() {
        let mut twins = Twins::default();
        let mut meet =
            |node: &str, sort, name: &str| twins.meet(&NodeId::new(node), sort, &Arc::from(name));
        for (node, sort, name) in [
            ("a", "fair", "x"),
            ("a", "fair", "x"),
            ("b", "fair", "{x}"),
            ("a", "rw", "{x}"),
            ("a", "fair", "{x}y"),
            ("a", "fair", "{x}{y}"),
            ("a", "fair", "y{x}"),
        ] {
            assert_eq!(meet(node, sort, name), None, "{name}");
        }
        assert_eq!(meet("a", "fair", "{x}").as_deref(), Some("x"));
        assert_eq!(meet("a", "rw", "x").as_deref(), Some("{x}"));
    }

    #[test]
    fn names_are_forgotten_and_memory_is_not_used_up() {
        let mut twins = Twins::default();
        for i in 0..3 * MOST {
            twins.meet(&NodeId::new("a"), "fair", &Arc::from(i.to_string()));
        }
        assert!(twins.0.len() <= MOST);
    }
}
