//! Hashes: fields are found by name and listed in the order they were first set, as Redis lists
//! small hashes.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Hash {
    fields: BTreeMap<Vec<u8>, Field>,
    next: u64,
}

#[derive(Clone, Debug)]
struct Field {
    /// When the field was first set, counted in fields.
    order: u64,
    value: Vec<u8>,
}

impl Hash {
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn get(&self, field: &[u8]) -> Option<&Vec<u8>> {
        self.fields.get(field).map(|field| &field.value)
    }

    /// Sets a field; whether it is new.
    pub(crate) fn set(&mut self, field: &[u8], value: Vec<u8>) -> bool {
        if let Some(known) = self.fields.get_mut(field) {
            known.value = value;
            return false;
        }
        self.fields.insert(field.to_vec(), Field { order: self.next, value });
        self.next += 1;
        true
    }

    pub(crate) fn remove(&mut self, field: &[u8]) -> bool {
        self.fields.remove(field).is_some()
    }

    /// Fields and values in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Vec<u8>, &Vec<u8>)> {
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_unstable_by_key(|(_, field)| field.order);
        fields.into_iter().map(|(name, field)| (name, &field.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_the_order_they_were_first_set_in() {
        let mut hash = Hash::default();
        for name in [b"z", b"a", b"m", b"z"] {
            hash.set(name, Vec::new());
        }
        assert!(hash.remove(b"a"));
        assert!(hash.set(b"a", Vec::new()));
        let names: Vec<_> = hash.iter().map(|(name, _)| name.as_slice()).collect();
        assert_eq!(names, [b"z", b"m", b"a"]);
    }
}
