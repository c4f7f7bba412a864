//! Query parameters.

use axum::extract::Query as Pairs;
use http::Uri;

/// The parameters of a request, in order; unknown ones are simply never asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query of a URI; empty pairs and a bare `?` are tolerated.
    pub(super) fn of(uri: &Uri) -> Self {
        Pairs::<Vec<(String, String)>>::try_from_uri(uri).map(|it| Self(it.0)).unwrap_or_default()
    }

    /// The first value of a parameter, empty when absent.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|it| it.0 == name).map_or("", |it| &it.1)
    }

    /// All values of a parameter.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|it| it.0 == name).map(|it| it.1.as_str()).collect()
    }

    /// A truth value; `None` when absent or unreadable.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            "true" | "True" | "1" => Some(true),
            "false" | "False" | "0" => Some(false),
            _ => None,
        }
    }

    /// A whole number; `None` when absent or unreadable.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_pairs_are_tolerated_and_values_decoded() {
        let query = |text: &str| Query::of(&text.parse().unwrap());
        assert_eq!(query("/pods?&limit=2").number("limit"), Some(2));
        assert_eq!(query("/pods?").get("limit"), "");
        let selector = query("/pods?labelSelector=a%20in%20%28b%2Cc%29&watch=1");
        assert_eq!(selector.get("labelSelector"), "a in (b,c)");
        assert_eq!(selector.flag("watch"), Some(true));
        assert_eq!(query("/pods?dryRun=All&dryRun=x").all("dryRun"), ["All", "x"]);
    }
}
