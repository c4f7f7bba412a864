//! Objects as YAML, in which each rule of a role says who needs it.

use std::fmt::Write as _;

use serde_json::Value;

use super::objects::Object;

/// All objects, each a document.
pub(super) fn documents(objects: &[Object]) -> anyhow::Result<String> {
    let documents = objects.iter().map(document).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(documents.join("---\n"))
}

/// One object.
pub(super) fn document(object: &Object) -> anyhow::Result<String> {
    let needed_by = object.needed_by();
    let Some(rules) = object.value()["rules"].as_array().filter(|it| it.len() == needed_by.len())
    else {
        return text(object.value());
    };
    // `rules` is the last field of a role, in the order of the alphabet.
    let mut head = object.value().clone();
    if let Some(fields) = head.as_object_mut() {
        fields.remove("rules");
    }
    let mut document = text(&head)? + "rules:\n";
    for (rule, needed_by) in rules.iter().zip(needed_by) {
        let _ = writeln!(document, "# For {needed_by}.");
        document += &text(&Value::Array(vec![rule.clone()]))?;
    }
    Ok(document)
}

/// Any value.
pub(super) fn text(value: &Value) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}
