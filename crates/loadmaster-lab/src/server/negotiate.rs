//! Which form of an answer a client wants.

use crate::status::{Details, Status};

/// The form of an object or list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    Object,
    /// Rows and columns, as kubectl shows them.
    Table,
    /// Metadata alone.
    Partial,
}

/// The first form in an `Accept` header that is served; protobuf is not, JSON and wildcards are.
///
/// # Errors
/// 406 when there is none.
pub(super) fn form(accept: &str) -> Result<Form, Status> {
    if accept.trim().is_empty() {
        return Ok(Form::Object);
    }
    accept.split(',').find_map(one).ok_or_else(|| {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json";
        Status::new(406, "NotAcceptable", message).with_details(Details::default())
    })
}

fn one(range: &str) -> Option<Form> {
    let mut parts = range.split(';').map(str::trim);
    if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
        return None;
    }
    let parameters: Vec<(&str, &str)> = parts.filter_map(|it| it.split_once('=')).collect();
    let parameter = |name: &str| parameters.iter().find(|it| it.0 == name).map(|it| it.1);
    let served = parameter("g") == Some("meta.k8s.io") && parameter("v") == Some("v1");
    match parameter("as") {
        None => Some(Form::Object),
        Some("Table") if served => Some(Form::Table),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") if served => {
            Some(Form::Partial)
        }
        Some(_) => None,
    }
}

/// Whether discovery is wanted in the aggregated form.
pub(super) fn wants_aggregated(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let parts: Vec<&str> = range.split(';').map(str::trim).collect();
        ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"]
            .iter()
            .all(|it| parts.contains(it))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_served_form_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                     application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(table), Ok(Form::Table));
        for json in ["", "*/*", "application/json, */*", "application/vnd.kubernetes.protobuf, */*"]
        {
            assert_eq!(form(json), Ok(Form::Object), "{json}");
        }
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;\
                       v=v1;g=meta.k8s.io,application/json;as=PartialObjectMetadataList;v=v1;\
                       g=meta.k8s.io,application/json";
        assert_eq!(form(partial), Ok(Form::Partial));
        assert_eq!(form("text/csv").unwrap_err().code, 406);
    }

    #[test]
    fn aggregated_discovery_is_recognised_in_kubectls_header() {
        assert!(wants_aggregated(
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
             application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
             application/json"
        ));
        assert!(!wants_aggregated("application/json"));
    }
}
