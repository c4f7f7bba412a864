//! Query parameters.

use std::num::IntErrorKind;

use axum::extract::Query as Pairs;
use http::Uri;

use crate::status::Status;

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

    /// A truth value; `None` when absent. Only `0` and `false` are false, as in the original.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let value = *self.all(name).first()?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Refuses values of these parameters that are no whole numbers.
    ///
    /// # Errors
    /// 400 in the words of the original's decoder.
    pub(super) fn check_numbers(&self, names: &[&str]) -> Result<(), Status> {
        for value in names.iter().filter_map(|it| self.all(it).first().copied()) {
            let Err(error) = value.parse::<i64>() else { continue };
            let fault = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            return Err(Status::bad_request(format!(
                "strconv.ParseInt: parsing {value:?}: {fault}"
            )));
        }
        Ok(())
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
        assert_eq!(query("/pods?watch=maybe").flag("watch"), Some(true));
        assert_eq!(query("/pods?watch=FALSE&x=0").flag("watch"), Some(false));
        assert_eq!(query("/pods?dryRun=All&dryRun=x").all("dryRun"), ["All", "x"]);
    }

    #[test]
    fn what_is_no_number_is_refused_in_the_words_of_the_original() {
        let refused = |text: &str| {
            let query = Query::of(&format!("/pods?limit={text}").parse().unwrap());
            query.check_numbers(&["timeoutSeconds", "limit"]).map_err(|it| it.message)
        };
        assert_eq!(refused("-1"), Ok(()));
        let fault =
            |text: &str, fault: &str| Err(format!("strconv.ParseInt: parsing {text:?}: {fault}"));
        assert_eq!(refused("abc"), fault("abc", "invalid syntax"));
        assert_eq!(refused(""), fault("", "invalid syntax"));
        let large = "9223372036854775808";
        assert_eq!(refused(large), fault(large, "value out of range"));
    }
}
