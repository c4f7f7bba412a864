use super::*;

const RECIPE: &str = r#"
description = "A test's."
repository = "academy/x"
[binary]
package = "loadmaster-scheduler"
name = "scheduler"
[run]
entrypoint = "/scheduler"
[[files]]
from = "README.md"
to = "/etc/README.md"
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn parse(text: &str) -> Result<Recipe, RecipeError> {
    Recipe::parse(text, "x", Path::new("images/x.toml"), &root())
}

#[test]
fn every_image_of_the_repository_can_be_read() {
    let names = names(&root()).unwrap();
    for shipped in ["cache-aware-scheduler", "concentrate-scheduler", "scheduler"] {
        assert!(names.iter().any(|it| it == shipped), "{shipped} is not among {names:?}");
    }
    for name in names {
        let recipe = Recipe::read(&root(), &name).unwrap();
        assert_eq!(recipe.repository, format!("academy/{name}"));
    }
}

#[test]
fn what_is_left_out_is_what_a_cluster_asks_for() {
    let recipe = parse(RECIPE).unwrap();
    assert_eq!(recipe.run.user, 65532);
    assert_eq!(recipe.binary.profile, "release");
    assert!(recipe.binary.features.is_empty() && recipe.run.arguments.is_empty());
}

#[test]
fn a_value_that_cannot_be_used_is_named_by_its_path() {
    let cases = [
        ("entrypoint = \"/scheduler\"", "entrypoint = \"scheduler\"", "run.entrypoint"),
        ("[[files]]", "user = 0\n[[files]]", "run.user"),
        ("/etc/README.md", "/etc/../x", "files[0].to"),
        ("/etc/README.md", "/scheduler", "files[0].to: `/scheduler` is there already"),
        ("README.md\"\nto", "REDME.md\"\nto", "files[0].from: `REDME.md` is no file"),
        ("README.md\"\nto", "../README.md\"\nto", "files[0].from"),
        ("package =", "pakage =", "unknown field `pakage`"),
        ("description = \"A test's.\"", "", "missing field `description`"),
    ];
    for (right, wrong, told) in cases {
        let error = parse(&RECIPE.replacen(right, wrong, 1)).unwrap_err().to_string();
        assert!(error.starts_with("images/x.toml") && error.contains(told), "{told}: {error}");
    }
}

#[test]
fn an_image_of_another_name_is_told_the_nearest() {
    let error = Recipe::read(&root(), "concentrate-sheduler").unwrap_err().to_string();
    assert!(error.contains("did you mean `concentrate-scheduler`?"), "{error}");
    let error = Recipe::read(&root(), "nothing-like-it-at-all").unwrap_err().to_string();
    assert!(error.contains("cache-aware-scheduler"), "{error}");
    assert!(Recipe::read(&root(), "../images/scheduler").is_err());
}
