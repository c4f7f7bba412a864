//! The kubeconfig of a lab.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::error::UserError;
use crate::values::list;

/// The extension in every kubeconfig that `lab` writes; without it a file is somebody else's. It is
/// no comment, since `kubectl config` drops comments.
const MARK: &str = "loadmaster-lab";

/// How to reach a lab.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    /// Its URL for HTTP.
    pub(super) http: String,
    /// Its URL for HTTPS.
    pub(super) https: String,
    /// The certificate of who signed the server's.
    pub(super) ca_pem: String,
    /// The administrator's bearer token.
    pub(super) admin_token: String,
}

/// Writes a kubeconfig with the contexts `lab` and `lab-https`, both of the administrator, readable
/// by its owner alone.
///
/// # Errors
/// When the file is somebody else's or cannot be written.
pub(super) fn write(file: &Path, to: &Endpoints) -> Result<(), UserError> {
    if file.exists() && !is_ours(file) {
        return Err(UserError::ForeignKubeconfig { file: file.to_owned() });
    }
    let failed = |reason| UserError::Kubeconfig { file: file.to_owned(), reason };
    remove(file).map_err(failed)?;
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    opened.write_all(text(to).as_bytes()).map_err(failed)
}

/// Removes the file if it is ours.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    if is_ours(file) { fs::remove_file(file) } else { Ok(()) }
}

/// Whether the file is one of ours and knows no other cluster than the lab.
fn is_ours(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let Ok(config) = serde_saphyr::from_str::<Value>(&text) else { return false };
    let marked = list(&config, "/extensions").iter().any(|it| it["name"] == MARK);
    let ours = |it: &Value| it["name"] == "lab" || it["name"] == "lab-https";
    marked && list(&config, "/clusters").iter().all(ours)
}

fn text(to: &Endpoints) -> String {
    let Endpoints { http, https, ca_pem, admin_token } = to;
    let ca = STANDARD.encode(ca_pem);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster:
    server: {http}
- name: lab-https
  cluster:
    server: {https}
    certificate-authority-data: {ca}
contexts:
- name: lab
  context:
    cluster: lab
    user: lab
- name: lab-https
  context:
    cluster: lab-https
    user: lab-https
current-context: lab
users:
- name: lab
  user: {{}}
- name: lab-https
  user:
    token: {admin_token}
extensions:
- name: {MARK}
  extension:
    note: Written by `lab up` and removed when the lab ends.
"
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn endpoints(http: &str) -> Endpoints {
        Endpoints {
            http: http.to_owned(),
            https: "https://127.0.0.1:3".to_owned(),
            ca_pem: "CA".to_owned(),
            admin_token: "secret".to_owned(),
        }
    }

    #[test]
    fn it_is_private_and_may_be_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kubeconfig");
        write(&file, &endpoints("http://127.0.0.1:1")).unwrap();
        write(&file, &endpoints("http://127.0.0.1:2")).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let config: Value = serde_saphyr::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["server"], "http://127.0.0.1:2");
        assert_eq!(config["clusters"][1]["cluster"]["certificate-authority-data"], "Q0E=");
        assert_eq!(config["users"][1]["user"]["token"], "secret");
        remove(&file).unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn somebody_else_s_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        fs::write(&file, "apiVersion: v1\n").unwrap();
        let refusal = write(&file, &endpoints("http://127.0.0.1:1")).unwrap_err();
        assert!(matches!(refusal, UserError::ForeignKubeconfig { .. }));
        remove(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "apiVersion: v1\n");
    }
}
