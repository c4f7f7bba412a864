//! Lists: selectors, versions, pages and forms.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::negotiate::Form;
use super::query::Query;
use super::respond::{self, Answer, Item};
use crate::api::{Api, views};
use crate::resources::Resource;
use crate::selectors::{FieldSelector, LabelSelector, Selector};
use crate::status::{Details, FieldError, Status};
use crate::store::{Object, text};
use crate::tables::{self, IncludeObject};

const TOO_OLD: &str = "The resourceVersion for the provided list is too old.";
const TOO_OLD_TOKEN: &str = "The provided continue parameter is too old to display a consistent \
     list result. You can start a new list without the continue parameter, or use the continue \
     token in this response to retrieve the remainder of the results. Continuing with the provided \
     token results in an inconsistent list - objects that were created, modified, or deleted \
     between the time the first chunk was returned and now may show up in the list.";

/// Reads both selectors of a request.
///
/// # Errors
/// 400 in the server's words.
pub(super) fn selector(query: &Query, resource: &Resource) -> Result<Selector, Status> {
    Ok(Selector {
        labels: LabelSelector::parse(query.get("labelSelector")).map_err(Status::bad_request)?,
        fields: FieldSelector::parse(query.get("fieldSelector"), resource)?,
    })
}

/// How much of the object table rows carry.
pub(super) fn include_object(query: &Query) -> IncludeObject {
    match query.get("includeObject") {
        "None" => IncludeObject::None,
        "Object" => IncludeObject::Object,
        _ => IncludeObject::Metadata,
    }
}

/// A refusal of list options.
pub(super) fn invalid_options(error: FieldError) -> Status {
    Status::invalid_kind("meta.k8s.io", "ListOptions", "", &[error])
}

/// 504: the version asked for has not been written yet.
pub(super) fn check_not_ahead(api: &Api, version: u64) -> Result<(), Status> {
    let current = api.store().version();
    if version <= current {
        return Ok(());
    }
    let message = format!("Timeout: Too large resource version: {version}, current: {current}");
    let details = Details { retry_after_seconds: Some(1), ..Details::default() };
    Err(Status::new(504, "Timeout", message).with_details(details).with_cause(
        "ResourceVersionTooLarge",
        "Too large resource version",
        "",
    ))
}

/// Go's words for a version that is no number.
pub(super) fn not_a_version(text: &str) -> String {
    format!(
        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid \
         syntax"
    )
}

/// One page of a list.
struct Page {
    objects: Vec<Object>,
    version: u64,
    token: String,
    remaining: Option<usize>,
}

/// Answers a list.
///
/// # Errors
/// 400, 410, 422 and 504 as the options deserve.
pub(super) fn list(
    api: &Api,
    resource: &Resource,
    namespace: Option<&str>,
    query: &Query,
    form: Form,
) -> Result<Answer, Status> {
    check_options(query)?;
    let selector = selector(query, resource)?;
    let page = page(api, resource, namespace, query, &selector)?;
    let objects: Vec<Object> =
        page.objects.iter().map(|it| views::from_stored(resource, it)).collect();
    let mut metadata = json!({"resourceVersion": page.version.to_string()});
    if !page.token.is_empty() {
        metadata["continue"] = json!(page.token);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    Ok(match form {
        Form::Object => plain(resource, &metadata, &objects),
        Form::Table => table(resource, &metadata, &objects, include_object(query)),
        Form::Partial => {
            let items: Vec<Value> = objects.iter().map(|it| respond::partial(it)).collect();
            respond::object(
                200,
                &json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata,
                    "items": items,
                }),
            )
        }
    })
}

/// A list object of these objects.
pub(super) fn plain(resource: &Resource, metadata: &Value, objects: &[Object]) -> Answer {
    #[derive(serde::Serialize)]
    struct List<'a> {
        kind: String,
        #[serde(rename = "apiVersion")]
        api_version: String,
        metadata: &'a Value,
        items: Vec<Item<'a>>,
    }
    respond::object(
        200,
        &List {
            kind: format!("{}List", resource.kind),
            api_version: resource.api_version(),
            metadata,
            items: objects.iter().map(|it| Item(it)).collect(),
        },
    )
}

/// A table of these objects.
pub(super) fn table(
    resource: &Resource,
    metadata: &Value,
    objects: &[Object],
    include: IncludeObject,
) -> Answer {
    let now = Timestamp::now();
    let rows: Vec<Value> =
        objects.iter().map(|it| tables::row(resource.kind, it, include, now)).collect();
    respond::object(
        200,
        &json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": tables::columns(resource.kind),
            "rows": rows,
        }),
    )
}

fn check_options(query: &Query) -> Result<(), Status> {
    let forbidden =
        |field: &str, detail: &str| Err(invalid_options(FieldError::forbidden(field, detail)));
    let (version, matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
    if query.flag("sendInitialEvents").is_some() {
        return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if matching.is_empty() {
        return Ok(());
    }
    if version.is_empty() {
        let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        return forbidden("resourceVersionMatch", detail);
    }
    match matching {
        "Exact" if version == "0" => forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        "Exact" | "NotOlderThan" => Ok(()),
        other => Err(invalid_options(FieldError::not_supported(
            "resourceVersionMatch",
            &json!(other),
            &["Exact", "NotOlderThan", ""],
        ))),
    }
}

fn page(
    api: &Api,
    resource: &Resource,
    namespace: Option<&str>,
    query: &Query,
    selector: &Selector,
) -> Result<Page, Status> {
    let given = query.get("resourceVersion");
    let token = query.get("continue");
    let (mut objects, version, after) = if token.is_empty() {
        let (objects, version) = snapshot(api, resource, namespace, query)?;
        (objects, version, None)
    } else {
        if !given.is_empty() && given != "0" {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(message));
        }
        continued(api, resource, namespace, &Token::read(token)?)?
    };
    if let Some(after) = &after {
        objects.retain(|it| key(it) > (after.0.as_str(), after.1.as_str()));
    }
    objects.retain(|it| selector.matches(it));
    let limit = query.number("limit").and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
    // The real server answers "any version" from its cache, whole.
    if limit == 0 || given == "0" || objects.len() <= limit {
        return Ok(Page { objects, version, token: String::new(), remaining: None });
    }
    let remaining = objects.len() - limit;
    objects.truncate(limit);
    let token = objects.last().map(|it| Token::after(version, it)).unwrap_or_default();
    let remaining = selector.is_everything().then_some(remaining);
    Ok(Page { objects, version, token, remaining })
}

fn snapshot(
    api: &Api,
    resource: &Resource,
    namespace: Option<&str>,
    query: &Query,
) -> Result<(Vec<Object>, u64), Status> {
    let given = query.get("resourceVersion");
    let version: u64 = match given {
        "" => 0,
        text => text.parse().map_err(|_| {
            Status::bad_request(format!("invalid resource version: {}", not_a_version(text)))
        })?,
    };
    check_not_ahead(api, version)?;
    if query.get("resourceVersionMatch") == "Exact" {
        let objects = api.store().list_at(resource.collection, namespace, version);
        return Ok((objects.map_err(|_| Status::expired(TOO_OLD))?, version));
    }
    Ok(api.store().list(resource.collection, namespace))
}

/// (objects, version, key after which the page begins).
type Continued = (Vec<Object>, u64, Option<(String, String)>);

fn continued(
    api: &Api,
    resource: &Resource,
    namespace: Option<&str>,
    token: &Token,
) -> Result<Continued, Status> {
    let after = Some((token.namespace.clone(), token.name.clone()));
    let Some(version) = token.version else {
        let (objects, version) = api.store().list(resource.collection, namespace);
        return Ok((objects, version, after));
    };
    let Ok(objects) = api.store().list_at(resource.collection, namespace, version) else {
        let resume = Token { version: None, ..token.clone() };
        return Err(Status { resume: resume.write(), ..Status::expired(TOO_OLD_TOKEN) });
    };
    Ok((objects, version, after))
}

fn key(object: &Object) -> (&str, &str) {
    (text(object, "namespace"), text(object, "name"))
}

/// Where a list goes on: after which object, and in which version (`None`: in whatever is now).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    version: Option<u64>,
    namespace: String,
    name: String,
}

impl Token {
    fn after(version: u64, object: &Object) -> String {
        let (namespace, name) = key(object);
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { version: Some(version), namespace, name }.write()
    }

    fn write(&self) -> String {
        let version = self.version.map_or_else(|| json!(-1), |it| json!(it));
        let start = format!("{}/{}", self.namespace, self.name);
        URL_SAFE_NO_PAD
            .encode(json!({"v": "meta.k8s.io/v1", "rv": version, "start": start}).to_string())
    }

    fn read(token: &str) -> Result<Self, Status> {
        let invalid = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| invalid(&error.to_string()))?;
        let token: Value =
            serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))?;
        let start = token["start"].as_str().unwrap_or_default();
        let (namespace, name) =
            start.split_once('/').ok_or_else(|| invalid("it does not say where to start"))?;
        Ok(Self {
            version: token["rv"].as_u64(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_as_it_was_written() {
        let token = Token { version: Some(7), namespace: "ns".to_owned(), name: "p1".to_owned() };
        assert_eq!(Token::read(&token.write()).unwrap(), token);
        let open = Token { version: None, ..token };
        assert_eq!(Token::read(&open.write()).unwrap(), open);
        assert_eq!(Token::read("zzz").unwrap_err().code, 400);
    }
}
