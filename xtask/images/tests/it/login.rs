//! Who the program is at a registry: what `docker login` has stored with a helper.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    sync::mpsc,
    thread,
};

use crate::place::Place;

/// Answers one request: without credentials that they are wanted, else that nothing is there. `tell`s the
/// credentials first.
fn answer(stream: &TcpStream, tell: &mpsc::Sender<String>) {
    let mut shown = None;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                shown = Some(value.to_owned());
            }
            None if line.is_empty() => break,
            _ => {}
        }
    }
    let head = match shown {
        None => "401 Unauthorized\r\nwww-authenticate: Basic realm=\"test\"",
        Some(it) => {
            tell.send(it).unwrap();
            "404 Not Found"
        }
    };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
}

#[test]
fn a_credential_helper_is_asked_for_the_registry_and_its_answer_is_shown_there() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let registry = listener.local_addr().unwrap().to_string();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&stream.unwrap(), &tell);
        }
    });
    // As the protocol of Docker's helpers has it: the registry comes in, its user and password go out.
    let helper = place.root().join("docker-credential-test");
    let script = format!(
        "#!/bin/sh\nread -r server\n[ \"$1 $server\" = 'get {registry}' ] || exit 1\n\
         echo '{{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"secret\"}}'\n"
    );
    fs::write(&helper, script).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("{{\"credHelpers\":{{\"{registry}\":\"test\"}}}}");
    fs::write(place.root().join("config.json"), config).unwrap();

    let reference = format!("{registry}/academy/x:v1");
    let path = env::join_paths(
        [place.root().to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap())),
    );
    let mut command = place.program();
    command.args(["verify-tags", &reference]).env("PATH", path.unwrap());
    let output = command.env("DOCKER_CONFIG", place.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // "me:secret" in base64.
    assert_eq!(told.try_recv().as_deref(), Ok("Basic bWU6c2VjcmV0"), "{said}");
}
