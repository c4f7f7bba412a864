//! `images/NAME.toml`: what goes into an image.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;

#[cfg(test)]
mod tests;

/// The folder of the recipes, in the repository.
pub const FOLDER: &str = "images";

/// What goes into an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recipe {
    /// The file's name without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The repository in the registry, `academy/NAME`.
    pub repository: String,
    /// Where people find the source, if that is not the repository's remote `origin`.
    pub source: Option<String>,
    /// The program.
    pub binary: Binary,
    /// How a container of it runs.
    pub run: Run,
    /// What people ask images for, beside what every image says of itself.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Files of the repository to put in.
    #[serde(default)]
    pub files: Vec<File>,
}

/// The program of an image.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Binary {
    /// The package that it is a binary of.
    pub package: String,
    /// The binary's name.
    pub name: String,
    /// The package's features to build it with, beside the default ones.
    #[serde(default)]
    pub features: Vec<String>,
    /// The cargo profile.
    #[serde(default = "release")]
    pub profile: String,
}

/// How a container runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Run {
    /// Where the program is; the container runs it.
    pub entrypoint: String,
    /// Its arguments where nobody gives others.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The user's number; the group has the same.
    #[serde(default = "nonroot")]
    pub user: u32,
}

/// A file to put in.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct File {
    /// In the repository, from its root.
    pub from: String,
    /// In the image, from `/`.
    pub to: String,
}

fn release() -> String {
    "release".to_owned()
}

/// The user that distroless images call `nonroot`; Kubernetes' `runAsNonRoot` believes numbers only.
const fn nonroot() -> u32 {
    65532
}

/// The recipe cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// There is none of that name.
    #[error("there is no image `{name}`; {advice}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Which there are.
        advice: String,
    },
    /// It cannot be read.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// It says something that is not understood.
    #[error("{}: {why}", file.display())]
    Parse {
        /// The recipe.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A value is of the right type and cannot be used.
    #[error("{}: {field}: {why}", file.display())]
    Value {
        /// The recipe.
        file: PathBuf,
        /// The field's path.
        field: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Recipe {
    /// Reads the recipe `name` of the repository at `root`, and checks it.
    ///
    /// # Errors
    /// When there is none, or it says something that cannot be built.
    pub fn read(root: &Path, name: &str) -> Result<Self, RecipeError> {
        let names = names(root)?;
        if !names.iter().any(|it| it == name) {
            return Err(unknown(name, &names));
        }
        let file = Path::new(FOLDER).join(format!("{name}.toml"));
        let text = fs::read_to_string(root.join(&file));
        let text = text.map_err(|it| RecipeError::Read(file.clone(), it))?;
        Self::parse(&text, name, &file, root)
    }

    fn parse(text: &str, name: &str, file: &Path, root: &Path) -> Result<Self, RecipeError> {
        let parsed: Result<Self, _> = toml::from_str(text);
        let mut recipe =
            parsed.map_err(|it| RecipeError::Parse { file: file.into(), why: it.to_string() })?;
        name.clone_into(&mut recipe.name);
        recipe.check(root).map_err(|(field, why)| RecipeError::Value {
            file: file.to_owned(),
            field,
            why,
        })?;
        Ok(recipe)
    }

    /// The field that cannot be used, and why.
    fn check(&self, root: &Path) -> Result<(), (String, String)> {
        let not_absolute = |path: &str| {
            let inside = |it| matches!(it, Component::RootDir | Component::Normal(_));
            let is_fine = Path::new(path).is_absolute()
                && Path::new(path).components().all(inside)
                && Path::new(path).file_name().is_some()
                && !path.ends_with('/');
            (!is_fine).then(|| format!("`{path}` is no file; write its path from `/`"))
        };
        let fault = |field: String, why: Option<String>| why.map_or(Ok(()), |it| Err((field, it)));
        fault("run.entrypoint".into(), not_absolute(&self.run.entrypoint))?;
        if self.run.user == 0 {
            return Err((
                "run.user".into(),
                "the image runs as root; choose another number".into(),
            ));
        }
        let mut taken = vec![self.run.entrypoint.as_str()];
        for (i, file) in self.files.iter().enumerate() {
            fault(format!("files[{i}].to"), not_absolute(&file.to))?;
            if taken.contains(&file.to.as_str()) {
                return Err((format!("files[{i}].to"), format!("`{}` is there already", file.to)));
            }
            taken.push(&file.to);
            let path = Path::new(&file.from);
            let inside = path.components().all(|it| matches!(it, Component::Normal(_)));
            if !inside || !root.join(path).is_file() {
                let why = format!("`{}` is no file of the repository", file.from);
                return Err((format!("files[{i}].from"), why));
            }
        }
        Ok(())
    }
}

/// The names of the images that can be built, in order.
///
/// # Errors
/// When the folder cannot be read.
pub fn names(root: &Path) -> Result<Vec<String>, RecipeError> {
    let folder = root.join(FOLDER);
    let failed = |it| RecipeError::Read(folder.clone(), it);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|it| it == "toml") {
            names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn unknown(name: &str, names: &[String]) -> RecipeError {
    let distance = |it: &&String| strsim::damerau_levenshtein(it, name);
    let near = names.iter().filter(|it| distance(it) <= 4).min_by_key(distance);
    let advice = near.map_or_else(
        || format!("there are {}, a file below {FOLDER}/ each", names.join(", ")),
        |it| format!("did you mean `{it}`?"),
    );
    RecipeError::Unknown { name: name.to_owned(), advice }
}
