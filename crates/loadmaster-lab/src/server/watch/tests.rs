use super::*;

fn start(query: &str) -> Result<Start, Status> {
    Start::of(&Query::of(&format!("/pods?watch=true&{query}").parse().unwrap()))
}

#[test]
fn a_watch_begins_where_its_options_say() {
    for (query, expected) in [
        ("", Start::State { told: false }),
        ("resourceVersion=0", Start::State { told: false }),
        ("allowWatchBookmarks=true", Start::State { told: true }),
        ("resourceVersion=7", Start::After(7)),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true\
             &resourceVersion=7",
            Start::State { told: true },
        ),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", Start::Now),
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=7",
            Start::After(7),
        ),
    ] {
        assert_eq!(start(query), Ok(expected), "{query}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused_in_the_servers_words() {
    assert_eq!(
        start("sendInitialEvents=true").unwrap_err().message,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
         sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    );
    assert_eq!(
        start("resourceVersionMatch=NotOlderThan").unwrap_err().message,
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
         resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    );
    let status = start("resourceVersion=abc").unwrap_err();
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            500,
            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid \
             syntax"
        )
    );
}
