//! Labels, annotations and every other sorted map of text to text.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A shared, immutable piece of text: names, keys and values are cloned often and never edited.
pub type Text = Arc<str>;

/// A map of text to text in key order, as cheap to clone as a pointer.
///
/// `metadata.labels`, `metadata.annotations`, `spec.nodeSelector` and `matchLabels` are of this
/// shape. Equality, order and hash are those of the content, so it may be (part of) a key.
///
/// In JSON it is an object; `null` reads as empty, and so does a value that is `null` (as the
/// API server reads both).
///
/// ```
/// use loadmaster_framework::api::Labels;
///
/// let labels = Labels::from_iter([("zone", "a"), ("app", "web")]);
/// assert_eq!(labels.get("app").map(|value| &**value), Some("web"));
/// assert_eq!(labels.with("app", "db").iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["app", "zone"]);
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(Arc<[(Text, Text)]>);

impl Labels {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Text> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    /// Whether `key` is present, whatever its value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys and values in the byte order of the keys.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Text)> {
        self.0.iter()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A copy in which `key` has `value`, replacing any it had.
    #[must_use]
    pub fn with(&self, key: impl Into<Text>, value: impl Into<Text>) -> Self {
        self.iter().cloned().chain([(key.into(), value.into())]).collect()
    }

    /// Makes a map from entries in any order; of equal keys the last one counts.
    fn from_entries(mut entries: Vec<(Text, Text)>) -> Self {
        // Stable, so that the last of equal keys is the last of its run.
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.reverse();
        entries.dedup_by(|(later, _), (kept, _)| later == kept);
        entries.reverse();
        Self(entries.into())
    }
}

impl<K: Into<Text>, V: Into<Text>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::from_entries(entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = &'a (Text, Text);
    type IntoIter = std::slice::Iter<'a, (Text, Text)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (key, value))).finish()
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(key, value)| (&**key, &**value)))
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of text to text")
            }

            fn visit_none<E>(self) -> Result<Labels, E> {
                Ok(Labels::default())
            }

            fn visit_unit<E>(self) -> Result<Labels, E> {
                Ok(Labels::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Labels, D::Error> {
                from.deserialize_map(self)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut entries = Vec::with_capacity(map.size_hint().unwrap_or(0).min(64));
                while let Some((key, value)) = map.next_entry::<Text, Option<Text>>()? {
                    entries.push((key, value.unwrap_or_default()));
                }
                Ok(Labels::from_entries(entries))
            }
        }

        from.deserialize_option(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_in_key_order_and_the_last_of_equal_keys_counts() {
        let labels = Labels::from_iter([("b", "1"), ("a", "2"), ("b", "3")]);
        let pairs: Vec<_> = labels.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(pairs, [("a", "2"), ("b", "3")]);
    }

    #[test]
    fn lookup_tells_an_empty_value_from_an_absent_key() {
        let labels = Labels::from_iter([("a", "")]);
        assert_eq!(labels.get("a").map(|value| &**value), Some(""));
        assert!(labels.contains_key("a"));
        assert_eq!(labels.get("b"), None);
        assert!(Labels::default().is_empty());
    }

    #[test]
    fn with_replaces_or_adds_and_leaves_the_original_alone() {
        let one = Labels::from_iter([("a", "1")]);
        assert_eq!(one.with("a", "2"), Labels::from_iter([("a", "2")]));
        assert_eq!(one.with("0", "2"), Labels::from_iter([("0", "2"), ("a", "1")]));
        assert_eq!(one, Labels::from_iter([("a", "1")]));
    }

    #[test]
    fn json_null_is_empty_as_a_map_and_as_a_value() {
        let read = |text: &str| serde_json::from_str::<Labels>(text).unwrap();
        assert_eq!(read("null"), Labels::default());
        assert_eq!(read("{}"), Labels::default());
        assert_eq!(
            read(r#"{"b":null,"a":"x","a":"y"}"#),
            Labels::from_iter([("a", "y"), ("b", "")])
        );
        assert!(serde_json::from_str::<Labels>(r#"{"a":1}"#).is_err());
        assert!(serde_json::from_str::<Labels>("[]").is_err());
    }

    #[test]
    fn json_round_trip_keeps_every_entry() {
        let labels = Labels::from_iter([("b", "1"), ("a", "ä\"")]);
        let text = serde_json::to_string(&labels).unwrap();
        assert_eq!(text, r#"{"a":"ä\"","b":"1"}"#);
        assert_eq!(serde_json::from_str::<Labels>(&text).unwrap(), labels);
        assert_eq!(format!("{labels:?}"), r#"{"a": "ä\"", "b": "1"}"#);
    }
}
