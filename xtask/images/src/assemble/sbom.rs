//! The bill of materials: every crate that a program is made of, as `CycloneDX` 1.6 writes it.
//!
//! `cargo tree` tells which crates these are for one binary, one target and one choice of features;
//! `Cargo.lock` tells their checksums.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
};

use serde::Deserialize;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// The media type of the document, and the kind of artifact that it is in a registry.
pub(super) const MEDIA_TYPE: &str = "application/vnd.cyclonedx+json";

/// What a program is made of.
#[derive(Clone, Debug)]
pub struct Bill {
    /// The first is the program's own package.
    crates: Vec<Crate>,
    edges: BTreeMap<usize, BTreeSet<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Crate {
    name: String,
    version: String,
    licence: String,
    /// From a registry: the SHA-256 of its package.
    checksum: Option<String>,
}

/// What cargo says is not understood.
#[derive(Debug, thiserror::Error)]
pub enum BillError {
    /// A line of the tree.
    #[error("cannot make a bill of materials: `cargo tree` says `{0}`, which is not understood")]
    Line(String),
    /// There is no tree.
    #[error("cannot make a bill of materials: `cargo tree` names no package")]
    Empty,
    /// The lock file.
    #[error("cannot make a bill of materials: Cargo.lock: {0}")]
    Lock(#[from] toml::de::Error),
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Bill {
    /// What cargo is asked for the crates that end up in a program: no build scripts' and no macros'.
    pub fn arguments(package: &str, features: &[String], target: &str) -> Vec<OsString> {
        let mut words = vec!["tree", "--locked", "--package", package, "--target", target];
        words.extend(["--edges", "normal,no-proc-macro", "--prefix", "depth"]);
        words.extend(["--format", "\t{p}\t{l}", "--charset", "ascii"]);
        let mut words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        if !features.is_empty() {
            words.extend(["--features".into(), features.join(",").into()]);
        }
        words
    }

    /// Reads what cargo answers to [`Self::arguments`], and the text of `Cargo.lock`.
    ///
    /// # Errors
    /// When either is not understood.
    pub fn parse(tree: &str, lock: &str) -> Result<Self, BillError> {
        let lock: Lock = toml::from_str(lock)?;
        let checksums: BTreeMap<(&str, &str), &String> = lock
            .package
            .iter()
            .filter_map(|it| Some(((it.name.as_str(), it.version.as_str()), it.checksum.as_ref()?)))
            .collect();
        let mut bill = Self { crates: Vec::new(), edges: BTreeMap::new() };
        // The crates from the root to the one above.
        let mut path: Vec<usize> = Vec::new();
        for line in tree.lines().filter(|it| !it.is_empty()) {
            let wrong = || BillError::Line(line.to_owned());
            let mut fields = line.split('\t');
            let (Some(depth), Some(package)) = (fields.next(), fields.next()) else {
                return Err(wrong());
            };
            let depth: usize = depth.parse().map_err(|_| wrong())?;
            let mut words = package.split(' ');
            let (Some(name), Some(version)) = (words.next(), words.next()) else {
                return Err(wrong());
            };
            let version = version.strip_prefix('v').ok_or_else(wrong)?;
            // `(*)` marks one that was listed before; it stands behind the licence.
            let licence = fields.next().unwrap_or_default().trim_end_matches(" (*)").to_owned();
            let checksum = checksums.get(&(name, version)).map(|it| (*it).clone());
            let one = Crate { name: name.into(), version: version.into(), licence, checksum };
            let known = bill.crates.iter().position(|it| *it == one);
            let at = known.unwrap_or_else(|| {
                bill.crates.push(one);
                bill.crates.len() - 1
            });
            if depth > path.len() {
                return Err(wrong());
            }
            path.truncate(depth);
            if let Some(above) = path.last() {
                bill.edges.entry(*above).or_default().insert(at);
            }
            path.push(at);
        }
        if bill.crates.is_empty() { Err(BillError::Empty) } else { Ok(bill) }
    }

    /// How many crates it lists beside the program's own.
    pub fn len(&self) -> usize {
        self.crates.len() - 1
    }

    /// Whether the program stands alone.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The document about the program `program`, made at `created` (RFC 3339).
    pub fn document(&self, program: &str, created: &str) -> Value {
        let own = &self.crates[0];
        let mut order: Vec<usize> = (1..self.crates.len()).collect();
        let key = |it: &usize| (&self.crates[*it].name, &self.crates[*it].version);
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let components: Vec<Value> =
            order.iter().map(|it| self.crates[*it].component("library")).collect();
        let dependencies: Vec<Value> = std::iter::once(&0)
            .chain(&order)
            .map(|it| {
                let on = self.edges.get(it).into_iter().flatten();
                let on: BTreeSet<String> = on.map(|it| self.crates[*it].url()).collect();
                json!({"ref": self.crates[*it].url(), "dependsOn": on})
            })
            .collect();
        let mut subject = own.component("application");
        subject["name"] = program.into();
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"timestamp": created, "component": subject},
            "components": components,
            "dependencies": dependencies,
        })
    }
}

impl Crate {
    /// The package URL, which is its name in the document too.
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }

    fn component(&self, kind: &str) -> Value {
        let mut component = json!({
            "type": kind,
            "bom-ref": self.url(),
            "name": self.name,
            "version": self.version,
            "purl": self.url(),
        });
        if !self.licence.is_empty() {
            // Old crates write `A/B` for `A OR B`.
            let expression = self.licence.replace('/', " OR ");
            component["licenses"] = json!([{"expression": expression}]);
        }
        if let Some(checksum) = &self.checksum {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        component
    }
}
