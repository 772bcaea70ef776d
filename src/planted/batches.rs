//! Batches that ask too little about the clients that share them, for the bug of that name.

use std::collections::BTreeMap;

/// Joins the batches that go to one address.
pub(crate) fn by_address<K: Ord + Clone, T>(
    batches: BTreeMap<K, Vec<T>>,
    id: impl Fn(&T) -> &str,
) -> BTreeMap<K, Vec<T>> {
    if !planted!(BatchesByAddress) {
        return batches;
    }
    let mut joined: BTreeMap<String, (K, Vec<T>)> = BTreeMap::new();
    for (key, items) in batches {
        // Connectors are numbered behind their names.
        let address = items.first().map(|item| id(item).split('#').next().unwrap_or_default());
        let (_, all) = joined
            .entry(address.unwrap_or_default().to_owned())
            .or_insert_with(|| (key, Vec::new()));
        all.extend(items);
    }
    joined.into_values().collect()
}
