//! Single objects and what is below them.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::negotiate::Form;
use super::query::Query;
use super::respond::{self, Answer};
use super::{body, identity, list, log, options};
use crate::api::{
    Api, DeleteOptions, Deleted, FieldValidation, Part, PatchRequest, creates_by_put,
};
use crate::auth::rbac::{check_grant, grants_rights};
use crate::auth::{Attributes, ResourceTarget, User};
use crate::resources::{Collection, Resource, Verbs};
use crate::status::Status;
use crate::store::{Object, text};

/// What a request brings beside its path.
pub(super) struct Input<'a> {
    pub(super) method: &'a Method,
    pub(super) query: &'a Query,
    pub(super) content_type: &'a str,
    pub(super) body: &'a Bytes,
    pub(super) form: Form,
    pub(super) user: &'a User,
}

/// Answers a request for one object or one of its subresources.
///
/// # Errors
/// Every refusal of the API.
pub(super) fn answer(
    api: &Api,
    resource: &'static Resource,
    (namespace, name): (&str, &str),
    subresource: &str,
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let at = (namespace, name);
    match (subresource, input.method.as_str()) {
        ("" | "status" | "resize", "GET") => get(api, resource, at, input),
        ("", "PUT") => put(api, resource, Part::Whole, at, input),
        ("", "PATCH") => patch(api, resource, Part::Whole, at, input),
        ("", "DELETE") => delete(api, resource, at, input),
        ("status", "PUT") => put(api, resource, Part::Status, at, input),
        ("status", "PATCH") => patch(api, resource, Part::Status, at, input),
        ("finalize", "PUT") => put(api, resource, Part::Finalize, at, input),
        ("scale", "GET") => Ok(respond::object(200, &api.scale(resource, namespace, name)?)),
        ("scale", "PUT") => put_scale(api, resource, at, input),
        ("scale", "PATCH") => {
            let request = patch_request(input)?;
            Ok(respond::object(200, &api.patch_scale(resource, at, request)?))
        }
        ("binding", "POST") => bind(api, namespace, Some(name), input),
        ("token", "POST") => {
            let (version, kind) = ("authentication.k8s.io/v1", "TokenRequest");
            let request = decode_kind(version, kind, input, "CreateOptions")?.object;
            Ok(respond::object(201, &api.request_token(namespace, name, &request)?))
        }
        ("eviction", "POST") => evict(api, at, input),
        ("resize", "PUT") => put(api, resource, Part::Resize, at, input),
        ("resize", "PATCH") => patch(api, resource, Part::Resize, at, input),
        ("attach" | "exec" | "portforward", "GET" | "POST") => {
            api.get(resource, namespace, name)?;
            Err(Status::bad_request(log::HOLLOW))
        }
        ("log", "GET") => {
            let pod = api.get(resource, namespace, name)?;
            log::of(api, &pod, input.query)
        }
        _ => Err(Status::method_not_allowed()),
    }
}

/// Answers a `POST` to a collection: a create, or a review that is only answered.
///
/// # Errors
/// Every refusal of the API.
pub(super) fn post(
    api: &Api,
    resource: &'static Resource,
    namespace: &str,
    input: &Input<'_>,
) -> Result<Answer, Status> {
    if resource.kind == "Binding" {
        return bind(api, namespace, None, input);
    }
    let dry_run = options::dry_run(input.query, "CreateOptions")?;
    let decoded = decode(resource, input, "CreateOptions")?;
    if resource.verbs == Verbs::CreateOnly {
        let answer = api.review(resource, namespace, &decoded.object, input.user)?;
        return Ok(respond::object(201, &answer));
    }
    check_grant(api.store(), input.user, resource, namespace, &decoded.object)?;
    let object = api.create(resource, namespace, decoded.object, dry_run)?;
    Ok(respond::with_warnings(respond::object(201, &*object), &decoded.warnings))
}

/// Answers a `DELETE` of a collection with the list of what was deleted.
///
/// # Errors
/// 400 for a selector, or what refuses the first object that cannot be deleted.
pub(super) fn delete_collection(
    api: &Api,
    resource: &'static Resource,
    namespace: Option<&str>,
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let selector = list::selector(input.query, resource)?;
    let options = delete_options(input)?;
    let (mut objects, version) = api.store().list(resource.collection, namespace);
    objects.retain(|it| selector.matches(it));
    let mut deleted: Vec<Object> = Vec::new();
    for object in objects {
        match api.delete(resource, text(&object, "namespace"), text(&object, "name"), &options) {
            Ok(_) => deleted.push(crate::api::views::from_stored(resource, &object)),
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(list::plain(resource, &json!({"resourceVersion": version.to_string()}), &deleted))
}

fn get(
    api: &Api,
    resource: &'static Resource,
    (namespace, name): (&str, &str),
    input: &Input<'_>,
) -> Result<Answer, Status> {
    if let Ok(version) = input.query.get("resourceVersion").parse() {
        list::check_not_ahead(api, version)?;
    }
    let object = api.get(resource, namespace, name)?;
    Ok(match input.form {
        Form::Object => respond::object(200, &*object),
        Form::Partial => respond::object(200, &respond::partial(&object)),
        Form::Table => {
            let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
            list::table(resource, &metadata, &[object], list::include_object(input.query))
        }
    })
}

fn put(
    api: &Api,
    resource: &'static Resource,
    part: Part,
    at: (&str, &str),
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let dry_run = options::dry_run(input.query, "UpdateOptions")?;
    if part == Part::Whole && creates_by_put(resource) {
        may_create(api, resource, at, input.user)?;
    }
    let decoded = decode(resource, input, "UpdateOptions")?;
    check_grant(api.store(), input.user, resource, at.0, &decoded.object)?;
    let written = api.replace(resource, part, at, decoded.object, dry_run)?;
    let code = if written.created { 201 } else { 200 };
    Ok(respond::with_warnings(respond::object(code, &*written.object), &decoded.warnings))
}

fn patch(
    api: &Api,
    resource: &'static Resource,
    part: Part,
    at: (&str, &str),
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let request = patch_request(input)?;
    if part == Part::Whole && request.is_apply() {
        may_create(api, resource, at, input.user)?;
    }
    if grants_rights(resource) && !input.user.is_master() {
        let outcome = api.patch(resource, part, at, PatchRequest { dry_run: true, ..request })?;
        check_grant(api.store(), input.user, resource, at.0, &outcome.object)?;
    }
    let written = api.patch(resource, part, at, request)?;
    let code = if written.created { 201 } else { 200 };
    Ok(respond::with_warnings(respond::object(code, &*written.object), &written.warnings))
}

/// Whoever writes what is not there yet must be allowed to create it as well.
fn may_create(
    api: &Api,
    resource: &Resource,
    (namespace, name): (&str, &str),
    user: &User,
) -> Result<(), Status> {
    if api.store().get(resource.collection, namespace, name).is_some() {
        return Ok(());
    }
    let target = ResourceTarget {
        group: resource.group.to_owned(),
        resource: resource.plural.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..ResourceTarget::default()
    };
    identity::allow(api, user, &Attributes::on("create", target))
}

fn patch_request<'a>(input: &Input<'a>) -> Result<PatchRequest<'a>, Status> {
    Ok(PatchRequest {
        content_type: input.content_type,
        body: input.body,
        field_manager: input.query.get("fieldManager"),
        force: input.query.flag("force").unwrap_or(false),
        validation: options::field_validation(input.query, "PatchOptions")?,
        dry_run: options::dry_run(input.query, "PatchOptions")?,
    })
}

fn delete(
    api: &Api,
    resource: &'static Resource,
    (namespace, name): (&str, &str),
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let deleted = api.delete(resource, namespace, name, &delete_options(input)?)?;
    match deleted {
        Deleted::Gone(object) if resource.collection != Collection::PODS => {
            let mut details = json!({"name": name, "kind": resource.plural});
            if !resource.group.is_empty() {
                details["group"] = json!(resource.group);
            }
            details["uid"] = object["metadata"]["uid"].clone();
            Ok(respond::object(
                200,
                &json!({
                    "kind": "Status",
                    "apiVersion": "v1",
                    "metadata": {},
                    "status": "Success",
                    "details": details,
                }),
            ))
        }
        Deleted::Gone(object) | Deleted::Going(object) => Ok(respond::object(200, &*object)),
    }
}

fn delete_options(input: &Input<'_>) -> Result<DeleteOptions, Status> {
    input.query.check_numbers(&["gracePeriodSeconds"])?;
    if input.body.is_empty() {
        return options::delete(input.query, None);
    }
    let decoded = body::decode_kind(
        "v1",
        "DeleteOptions",
        input.content_type,
        input.body,
        FieldValidation::Ignore,
    )?;
    options::delete(input.query, Some(&decoded.object))
}

fn put_scale(
    api: &Api,
    resource: &'static Resource,
    at: (&str, &str),
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let dry_run = options::dry_run(input.query, "UpdateOptions")?;
    let decoded = decode_kind("autoscaling/v1", "Scale", input, "UpdateOptions")?;
    let scale = api.replace_scale(resource, at, &decoded.object, dry_run)?;
    Ok(respond::object(200, &scale))
}

/// `pods/NAME/binding`, or `bindings`, where the body alone names the pod.
fn bind(
    api: &Api,
    namespace: &str,
    name: Option<&str>,
    input: &Input<'_>,
) -> Result<Answer, Status> {
    let dry_run = options::dry_run(input.query, "CreateOptions")?;
    let decoded = decode_kind("v1", "Binding", input, "CreateOptions")?;
    let binding = decoded.object;
    let name = name.unwrap_or_else(|| text(&binding, "name"));
    api.bind(namespace, name, &binding, dry_run)?;
    Ok(respond::success(201))
}

fn evict(api: &Api, (namespace, name): (&str, &str), input: &Input<'_>) -> Result<Answer, Status> {
    let dry_run = options::dry_run(input.query, "CreateOptions")?;
    let eviction = decode_kind("policy/v1", "Eviction", input, "CreateOptions")?.object;
    let given = text(&eviction, "name");
    if given != name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let wanted: Value = eviction["deleteOptions"].clone();
    let mut options = options::delete(&Query::default(), Some(&wanted))?;
    options.dry_run |= dry_run;
    api.evict(namespace, name, &options)?;
    Ok(respond::success(201))
}

fn decode(
    resource: &Resource,
    input: &Input<'_>,
    options_kind: &str,
) -> Result<body::Decoded, Status> {
    let validation = options::field_validation(input.query, options_kind)?;
    body::decode(resource, input.content_type, input.body, validation)
}

fn decode_kind(
    version: &str,
    kind: &str,
    input: &Input<'_>,
    options_kind: &str,
) -> Result<body::Decoded, Status> {
    let validation = options::field_validation(input.query, options_kind)?;
    body::decode_kind(version, kind, input.content_type, input.body, validation)
}
