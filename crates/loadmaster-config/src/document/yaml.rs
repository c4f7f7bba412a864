//! The first YAML document of a text to a tree, as Go's strict YAML reader sees it.
//!
//! Source: `go.yaml.in/yaml/v2/decode.go` and `sigs.k8s.io/yaml`, as `kube-scheduler` 1.36 uses them.

use std::{collections::HashMap, mem, ops::RangeInclusive};

use loadmaster_framework::field;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, options};

use super::{
    Document, Kind, Node, libyaml, place,
    scalar::{self, Tag},
};
use crate::error::{Place, Problem};

pub(super) fn read(text: &str) -> Result<Document, Problem> {
    let options = options! { emit_comments: false };
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        problems: Vec::new(),
        path: String::new(),
        nodes: 0,
        copied: 0,
        inside: Vec::new(),
        line: 1,
    };
    let root = reader.document()?;
    libyaml::check(text, &reader.inside, reader.line)?;
    Ok(Document { root, problems: reader.problems })
}

struct Reader<'t> {
    events: Parser<'t, StrInput<'t>>,
    /// What an alias stands for, by the parser's number of the anchor.
    anchors: HashMap<usize, Node>,
    problems: Vec<Problem>,
    /// Where the reader is.
    path: String,
    /// Values so far, those that aliases copied included.
    nodes: usize,
    /// Values that came by way of an alias.
    copied: usize,
    /// Lines that begin within a scalar or a flow collection.
    inside: Vec<RangeInclusive<usize>>,
    /// The last line read.
    line: usize,
}

impl<'t> Reader<'t> {
    /// The value of the first document. Nothing behind its end is looked at.
    fn document(&mut self) -> Result<Node, Problem> {
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::DocumentStart(_, Some(version))
                    if (version.major, version.minor) != (1, 1) =>
                {
                    let message = "not valid YAML: the version must be 1.1";
                    return Err(self.fault(at, message).hint("leave the %YAML directive out"));
                }
                Event::StreamStart | Event::DocumentStart(..) => {}
                Event::StreamEnd | Event::DocumentEnd => return Ok(Node::new(Kind::Null, None)),
                event => {
                    let node = self.node(event, at)?;
                    // The end of the document is part of its notation.
                    self.next()?;
                    return Ok(node);
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Place), Problem> {
        match self.events.next() {
            Some(Ok((event, span))) => {
                let (first, last) = (span.start.line(), span.end.line());
                if matches!(event, Event::Scalar(..)) && first < last {
                    self.inside.push(first + 1..=last);
                }
                self.line = first;
                Ok((event, place(first, span.start.col() + 1)))
            }
            Some(Err(error)) => {
                let mark = error.marker();
                let problem = Problem::new("", format!("not valid YAML: {}", error.info()));
                Err(problem.at(place(mark.line(), mark.col() + 1)))
            }
            None => Ok((Event::StreamEnd, place(0, 0))),
        }
    }

    fn node(&mut self, event: Event<'_>, at: Place) -> Result<Node, Problem> {
        self.nodes += 1;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let name = tag.as_deref().and_then(|it| it.suffix_in_namespace(CORE));
                let tagged = tag.is_some();
                let kind = self.scalar(&text, style, tagged, name.as_deref(), at)?;
                (Node::new(kind, Some(at)), anchor)
            }
            Event::SequenceStart(style, anchor, _) => {
                let node = self.list(at)?;
                self.leave(style, at);
                (node, anchor)
            }
            Event::MappingStart(style, anchor, _) => {
                let node = self.map(at)?;
                self.leave(style, at);
                (node, anchor)
            }
            Event::Alias(target) => return self.alias(target, at),
            _ => return Err(self.fault(at, "not valid YAML: a value is missing")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// Reads the value at `path`, one step down from here.
    fn within(&mut self, path: String, event: Event<'_>, at: Place) -> Result<Node, Problem> {
        let outer = mem::replace(&mut self.path, path);
        let node = self.node(event, at);
        self.path = outer;
        node
    }

    /// Remembers the lines of a flow collection that began at `at` and ends here.
    fn leave(&mut self, style: StructureStyle, at: Place) {
        let first = at.line as usize;
        if style == StructureStyle::Flow && first < self.line {
            self.inside.push(first + 1..=self.line);
        }
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tagged: bool,
        core: Option<&str>,
        at: Place,
    ) -> Result<Kind, Problem> {
        let tag = match core {
            _ if !tagged && style == ScalarStyle::Plain => None,
            Some("bool") => Some(Tag::Bool),
            Some("int") => Some(Tag::Int),
            Some("float") => Some(Tag::Float),
            Some("null") => Some(Tag::Null),
            _ => Some(Tag::Text),
        };
        scalar::resolve(text, tag).ok_or_else(|| {
            self.fault(at, format!("{text:?} does not fit its tag or is no finite number"))
        })
    }

    fn list(&mut self, at: Place) -> Result<Node, Problem> {
        let mut elements = Vec::new();
        loop {
            let (event, place) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Node::new(Kind::List(elements), Some(at)));
            }
            let path = field::element(&self.path, elements.len());
            elements.push(self.within(path, event, place)?);
        }
    }

    fn map(&mut self, at: Place) -> Result<Node, Problem> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            let (event, key_place) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Node::new(Kind::Map(entries), Some(at)));
            }
            let merge = is_merge(&event);
            let key = self.node(event, key_place)?;
            let Some(key) = key_text(&key) else {
                return Err(self.fault(key_place, format!("{} is no key", key.describe())));
            };
            let (event, value_place) = self.next()?;
            let path = field::child(&self.path, &key);
            let value = self.within(path, event, value_place)?;
            if merge {
                self.merge(&mut entries, value, key_place)?;
            } else {
                self.insert(&mut entries, key, value, key_place);
            }
        }
    }

    /// Takes over the entries of a map, or of each map of a list, later ones first.
    fn merge(
        &mut self,
        entries: &mut Vec<(String, Node)>,
        value: Node,
        at: Place,
    ) -> Result<(), Problem> {
        match value.kind {
            Kind::Map(merged) => {
                for (key, value) in merged {
                    self.insert(entries, key, value, at);
                }
                Ok(())
            }
            Kind::List(maps) if maps.iter().all(|it| matches!(it.kind, Kind::Map(_))) => {
                maps.into_iter().rev().try_for_each(|it| self.merge(entries, it, at))
            }
            _ => Err(self.fault(at, "a merge key `<<` takes a map or a list of maps")),
        }
    }

    fn insert(&mut self, entries: &mut Vec<(String, Node)>, key: String, value: Node, at: Place) {
        if entries.iter().any(|(other, _)| *other == key) {
            // A merged key counts as set, so overriding one is a repetition to the strict reader.
            let path = field::child(&self.path, &key);
            self.problems.push(Problem::new(path, "this key is given twice").at(at));
        } else {
            entries.push((key, value));
        }
    }

    fn alias(&mut self, target: usize, at: Place) -> Result<Node, Problem> {
        let Some(node) = self.anchors.get(&target) else {
            return Err(self.fault(at, "an anchor's value contains itself"));
        };
        let size = size(node);
        self.nodes += size;
        self.copied += size;
        if self.copied > 100 && self.nodes > 1000 && self.mostly_copies() {
            return Err(self.fault(at, "document contains excessive aliasing"));
        }
        Ok(node.clone())
    }

    /// Whether more of the document comes from aliases than its size allows: nearly all of a small
    /// one, a tenth of a large one.
    fn mostly_copies(&self) -> bool {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        let nodes = self.nodes as f64;
        let allowed = 0.99 - 0.89 * ((nodes - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        self.copied as f64 / nodes > allowed
    }

    fn fault(&self, at: Place, message: impl Into<String>) -> Problem {
        Problem::new(&*self.path, message).at(at)
    }
}

fn is_merge(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<")
}

/// A key as JSON has it; lists, maps and nothing are no keys.
fn key_text(node: &Node) -> Option<String> {
    Some(match &node.kind {
        Kind::Text(it) => it.clone(),
        Kind::Bool(it) => it.to_string(),
        Kind::Int(it) => it.to_string(),
        Kind::Uint(it) => it.to_string(),
        Kind::Float(it) => it.to_string(),
        Kind::Null | Kind::List(_) | Kind::Map(_) => return None,
    })
}

/// How many values a tree holds.
fn size(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::List(elements) => elements.iter().map(size).sum(),
        Kind::Map(entries) => entries.iter().map(|(_, value)| 1 + size(value)).sum(),
        _ => 0usize,
    }
}

/// The namespace of YAML's own tags.
const CORE: &str = "tag:yaml.org,2002:";
