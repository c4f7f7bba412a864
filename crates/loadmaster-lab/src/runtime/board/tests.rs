use super::*;

fn pod(policy: &str, init: &Value) -> Value {
    json!({"metadata": {"name": "p", "generation": 1}, "status": {"phase": "Pending"},
        "spec": {"restartPolicy": policy, "initContainers": init,
            "containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"}]}})
}

fn board(pod: &Value) -> Board {
    let mut board = Board::new(pod, "127.1.0.1", Timestamp::UNIX_EPOCH);
    board.sandbox = true;
    board
}

fn ended(code: i32) -> State {
    State::Terminated(Ended {
        code,
        reason: if code == 0 { "Completed" } else { "Error" },
        message: String::new(),
        started: Some(Timestamp::UNIX_EPOCH),
        finished: Timestamp::UNIX_EPOCH,
        container_id: "bwrap://1".into(),
    })
}

fn running(line: &mut Line) {
    line.state = State::Running(Timestamp::UNIX_EPOCH);
    (line.ready, line.started) = (true, true);
}

#[test]
fn the_phase_follows_from_the_containers_and_the_restart_policy() {
    for (policy, codes, phase) in [
        ("Always", [0, 0], "Running"),
        ("OnFailure", [0, 0], "Succeeded"),
        ("OnFailure", [0, 1], "Running"),
        ("Never", [0, 0], "Succeeded"),
        ("Never", [0, 1], "Failed"),
    ] {
        let pod = pod(policy, &json!([]));
        let mut board = board(&pod);
        assert_eq!(board.phase(&pod), "Pending");
        for (line, code) in board.lines.iter_mut().zip(codes) {
            line.state = ended(code);
        }
        assert_eq!(board.phase(&pod), phase, "{policy} {codes:?}");
    }
    // One that waits to be started again has run.
    let pod = pod("Always", &json!([]));
    let mut board = board(&pod);
    running(&mut board.lines[0]);
    assert_eq!(board.phase(&pod), "Pending");
    if let State::Terminated(last) = ended(1) {
        board.lines[1].last = Some(last);
    }
    assert_eq!(board.phase(&pod), "Running");
}

#[test]
fn init_containers_hold_the_pod_back() {
    let pod = pod("Never", &json!([{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]));
    let mut board = board(&pod);
    for at in [2, 3] {
        running(&mut board.lines[at]);
    }
    assert_eq!(board.phase(&pod), "Pending");
    board.lines[0].state = ended(0);
    assert_eq!(board.phase(&pod), "Pending");
    running(&mut board.lines[1]);
    assert_eq!(board.phase(&pod), "Running");
    board.lines[0].state = ended(3);
    assert_eq!(board.phase(&pod), "Failed");
}

#[test]
fn the_status_says_what_is_not_ready_and_when_that_changed() {
    let mut pod = pod("Always", &json!([]));
    let mut board = board(&pod);
    running(&mut board.lines[0]);
    let at = |second| Timestamp::from_second(second).unwrap();
    board.write(&mut pod, "192.168.0.2", at(1));
    let of = |pod: &Value, kind: &str| condition(pod, kind).unwrap().clone();
    let ready = of(&pod, "Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("ContainersNotReady"))
    );
    assert_eq!(ready["message"], "containers with unready status: [b]");
    assert_eq!(
        pod["status"]["containerStatuses"][1]["state"]["waiting"]["reason"],
        "ContainerCreating"
    );
    assert_eq!(
        (&pod["status"]["podIP"], &pod["status"]["hostIP"]),
        (&json!("127.1.0.1"), &json!("192.168.0.2"))
    );
    running(&mut board.lines[1]);
    board.write(&mut pod, "192.168.0.2", at(2));
    board.write(&mut pod, "192.168.0.2", at(3));
    let ready = of(&pod, "Ready");
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("True"), &Value::Null));
    assert_eq!(ready["lastTransitionTime"], "1970-01-01T00:00:02Z");
    assert_eq!(of(&pod, "Initialized")["lastTransitionTime"], "1970-01-01T00:00:01Z");
    assert_eq!(pod["status"]["startTime"], "1970-01-01T00:00:00Z");
}
