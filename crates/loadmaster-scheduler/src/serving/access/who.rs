//! Users, and how they make themselves known.

use std::collections::BTreeMap;

use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use x509_parser::{
    prelude::{FromDer as _, X509Certificate},
    x509::{AttributeTypeAndValue, X509Name},
};

/// Somebody, as `authentication.k8s.io/v1` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    pub(super) groups: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

const AUTHENTICATED: &str = "system:authenticated";

impl User {
    /// Whoever shows nothing.
    pub(super) fn anonymous() -> Self {
        Self {
            username: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::default()
        }
    }

    /// The same, in the group of all who are known.
    pub(super) fn authenticated(mut self) -> Self {
        if !self.groups.iter().any(|it| it == AUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// Whom a certificate names: its common name, in the groups of its organizations.
    pub(super) fn of_certificate(der: &[u8]) -> Result<Option<Self>, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|it| it.to_string())?;
        let subject = certificate.subject();
        let username = common_name(subject);
        let groups = subject.iter_organization().filter_map(text).collect();
        Ok((!username.is_empty()).then(|| Self { username, groups, ..Self::default() }))
    }
}

/// The common name of a certificate.
pub(super) fn common_name_of(der: &[u8]) -> String {
    X509Certificate::from_der(der).map(|(_, it)| common_name(it.subject())).unwrap_or_default()
}

fn common_name(subject: &X509Name<'_>) -> String {
    subject.iter_common_name().filter_map(text).last().unwrap_or_default()
}

fn text(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    attribute.as_str().ok().map(str::to_owned)
}

/// The token of an `Authorization: Bearer` header.
pub(super) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
