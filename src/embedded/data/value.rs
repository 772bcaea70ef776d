//! The types of value a key can hold.

use std::collections::VecDeque;

use super::{Hash, SortedSet};

/// A list, its head in front.
pub(crate) type List = VecDeque<Vec<u8>>;

#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(Vec<u8>),
    Hash(Hash),
    List(List),
    SortedSet(SortedSet),
}

impl Value {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::SortedSet(_) => "zset",
        }
    }

    /// An empty collection is never stored: its key goes. A string may be empty.
    pub(crate) fn is_empty_collection(&self) -> bool {
        match self {
            Self::String(_) => false,
            Self::Hash(hash) => hash.len() == 0,
            Self::List(list) => list.is_empty(),
            Self::SortedSet(set) => set.len() == 0,
        }
    }
}

/// A type that is one variant of [`Value`].
pub(crate) trait Typed: Default {
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    fn into_value(self) -> Value;
}

macro_rules! typed {
    ($($type:ty => $variant:ident),*) => {$(
        impl Typed for $type {
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(inner) = value { Some(inner) } else { None }
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }
        }
    )*};
}

typed!(Vec<u8> => String, Hash => Hash, List => List, SortedSet => SortedSet);
