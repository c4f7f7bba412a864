//! Amounts by resource name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::api::{Quantity, Text};

/// Amounts by resource name, in name order: requests, limits, capacity, overhead.
///
/// In JSON it is an object; `null` reads as empty, and an amount that is `null` as zero.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceList(Vec<(Text, Quantity)>);

impl ResourceList {
    /// The amount of `name`.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    /// Whether there is an amount of `name`, be it zero.
    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    /// Names and amounts in the byte order of the names.
    pub fn iter(&self) -> std::slice::Iter<'_, (Text, Quantity)> {
        self.0.iter()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the amount of `name`.
    pub fn insert(&mut self, name: impl Into<Text>, amount: Quantity) {
        let name = name.into();
        match self.find(&name) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (name, amount)),
        }
    }

    /// Adds the amounts of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in other {
            match self.find(name) {
                Ok(at) => self.0[at].1 += amount,
                Err(at) => self.0.insert(at, (name.clone(), amount.clone())),
            }
        }
    }

    /// Raises each amount to that of `other` where that is larger or the name is new.
    pub fn set_max(&mut self, other: &Self) {
        for (name, amount) in other {
            match self.find(name) {
                Ok(at) if self.0[at].1 < *amount => self.0[at].1 = amount.clone(),
                Ok(_) => {}
                Err(at) => self.0.insert(at, (name.clone(), amount.clone())),
            }
        }
    }

    /// Takes over those amounts of `other` whose name is missing here.
    pub fn fill_missing(&mut self, other: &Self) {
        for (name, amount) in other {
            if let Err(at) = self.find(name) {
                self.0.insert(at, (name.clone(), amount.clone()));
            }
        }
    }

    /// Where `name` is, or would be.
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name))
    }
}

impl<N: Into<Text>> FromIterator<(N, Quantity)> for ResourceList {
    /// Of equal names the last one counts.
    fn from_iter<I: IntoIterator<Item = (N, Quantity)>>(amounts: I) -> Self {
        let mut list = Self::default();
        for (name, amount) in amounts {
            list.insert(name, amount);
        }
        list
    }
}

impl<'a> IntoIterator for &'a ResourceList {
    type Item = &'a (Text, Quantity);
    type IntoIter = std::slice::Iter<'a, (Text, Quantity)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for ResourceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(name, amount)| (name, amount))).finish()
    }
}

impl Serialize for ResourceList {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(name, amount)| (&**name, amount)))
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Amounts;

        impl<'de> Visitor<'de> for Amounts {
            type Value = ResourceList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of resource names to quantities")
            }

            fn visit_none<E>(self) -> Result<ResourceList, E> {
                Ok(ResourceList::default())
            }

            fn visit_unit<E>(self) -> Result<ResourceList, E> {
                Ok(ResourceList::default())
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<ResourceList, D::Error> {
                from.deserialize_map(self)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = ResourceList::default();
                while let Some((name, amount)) = map.next_entry::<Text, Quantity>()? {
                    list.insert(name, amount);
                }
                Ok(list)
            }
        }

        from.deserialize_option(Amounts)
    }
}
