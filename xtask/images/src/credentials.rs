//! Credentials from the Docker configuration and its helpers.

use std::{
    env,
    path::{Path, PathBuf},
};

use docker_credential::{CredentialRetrievalError as Failure, DockerCredential};
use oci_client::secrets::RegistryAuth;

/// Why the credentials that are configured cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The configuration cannot be read.
    #[error("{}: {cause}; mend the file, or log in again by `docker login`", file.display())]
    Unreadable {
        /// The configuration.
        file: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// It has what Docker alone can turn into a token.
    #[error(
        "the credentials for {registry} are an identity token, which is for Docker alone; log in \
         by `docker login` with a user name and an access token"
    )]
    IdentityToken {
        /// For which registry.
        registry: String,
    },
    /// The program that keeps the credentials does not give them.
    #[error("the credentials for {registry} cannot be had: {cause}")]
    Helper {
        /// For which registry.
        registry: String,
        /// What it says.
        cause: String,
    },
}

/// What the user's Docker configuration says about the registry: `config.json` in `DOCKER_CONFIG` or
/// in `~/.docker`. Without such a file, or a word about that registry in it, nobody in particular.
///
/// # Errors
/// When the file or the helper that it names is of no use.
pub fn for_registry(registry: &str) -> Result<RegistryAuth, CredentialsError> {
    let folder = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")));
    match folder.map(|it| it.join("config.json")) {
        Some(file) if file.exists() => from_file(&file, registry),
        _ => Ok(RegistryAuth::Anonymous),
    }
}

fn from_file(file: &Path, registry: &str) -> Result<RegistryAuth, CredentialsError> {
    let unreadable = |cause: String| CredentialsError::Unreadable { file: file.to_owned(), cause };
    let text = std::fs::read(file).map_err(|it| unreadable(it.to_string()))?;
    // The crate does not say what is wrong with the file.
    serde_json::from_slice::<serde_json::Value>(&text).map_err(|it| unreadable(it.to_string()))?;
    let helper = |cause: String| CredentialsError::Helper { registry: registry.to_owned(), cause };
    // Docker's own registry is stored by another name than it has in references.
    let key = match registry {
        "docker.io" | "index.docker.io" => "https://index.docker.io/v1/",
        other => other,
    };
    match docker_credential::get_credential_from_reader(text.as_slice(), key) {
        Ok(DockerCredential::UsernamePassword(user, password)) => {
            Ok(RegistryAuth::Basic(user, password))
        }
        Ok(DockerCredential::IdentityToken(_)) => {
            Err(CredentialsError::IdentityToken { registry: registry.to_owned() })
        }
        Err(Failure::NoCredentialConfigured) => Ok(RegistryAuth::Anonymous),
        Err(Failure::HelperFailure { stdout, .. }) if stdout.contains("not found") => {
            // How every helper says that it knows nothing of that registry.
            Ok(RegistryAuth::Anonymous)
        }
        Err(Failure::HelperCommunicationError) => Err(helper(format!(
            "the helper that {} names is not in PATH or does not run",
            file.display()
        ))),
        Err(Failure::HelperFailure { helper: name, stdout, stderr }) => {
            let said = if stderr.trim().is_empty() { stdout } else { stderr };
            Err(helper(format!("{name} says: {}", said.trim())))
        }
        Err(Failure::ConfigReadError) => {
            Err(unreadable("it is no Docker configuration".to_owned()))
        }
        Err(other) => Err(unreadable(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(config: &str, registry: &str) -> Result<RegistryAuth, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        fs::write(&file, config).unwrap();
        let found = from_file(&file, registry);
        found.map_err(|it| it.to_string().replace(&*folder.path().to_string_lossy(), ""))
    }

    #[test]
    fn the_registry_named_in_the_file_gets_its_user_and_others_nobody() {
        // "me:secret" in base64.
        let config = r#"{"auths":{"forge.lab:5000":{"auth":"bWU6c2VjcmV0"}}}"#;
        let basic = RegistryAuth::Basic("me".to_owned(), "secret".to_owned());
        assert_eq!(check(config, "forge.lab:5000"), Ok(basic));
        assert_eq!(check(config, "localhost:5000"), Ok(RegistryAuth::Anonymous));
    }

    #[test]
    fn what_cannot_be_used_is_an_error_that_says_so() {
        let broken = check("{", "a").unwrap_err();
        assert!(broken.starts_with("/config.json: EOF while parsing"), "{broken}");
        let token = r#"{"auths":{"a":{"identitytoken":"x"}}}"#;
        assert!(check(token, "a").unwrap_err().contains("access token"));
        let helper = r#"{"credHelpers":{"a":"of-nobody"}}"#;
        assert!(check(helper, "a").unwrap_err().contains("not in PATH"));
        let shape = check(r#"{"auths":[]}"#, "a").unwrap_err();
        assert!(shape.contains("no Docker configuration"), "{shape}");
    }
}
