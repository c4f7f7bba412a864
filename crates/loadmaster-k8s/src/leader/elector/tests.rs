use super::*;

const RETRY: u64 = 2;
const RENEW: u64 = 10;
const LEASE: u64 = 15;
/// The wall of this long ago: no decision may depend on it.
const EPOCH: Timestamp = Timestamp::constant(1_700_000_000, 0);

fn at(seconds: u64) -> Moment {
    // Two hours back from the tenth second on: a clock that jumps.
    let jump = if seconds < 10 { 0 } else { -7200 };
    let wall = EPOCH.as_second() + i64::try_from(seconds).unwrap() + jump;
    Moment { now: Duration::from_secs(seconds), wall: Timestamp::from_second(wall).unwrap() }
}

fn candidate(identity: &str) -> Elector {
    Elector::new(ElectionOptions {
        namespace: "kube-system".to_owned(),
        name: "kube-scheduler".to_owned(),
        identity: identity.to_owned(),
        reporter: "default-scheduler".to_owned(),
        lease_duration: Duration::from_secs(LEASE),
        renew_deadline: Duration::from_secs(RENEW),
        retry_period: Duration::from_secs(RETRY),
    })
}

/// The one lease of a server that demands the right version of those who write.
#[derive(Default)]
struct Server {
    lease: Option<Value>,
    version: u64,
}

impl Server {
    fn answer(&mut self, call: Call) -> Answer {
        match (call, &self.lease) {
            (Call::Get, Some(lease)) => Answer::Lease(lease.clone()),
            (Call::Create(lease), None) => self.store(lease),
            (Call::Update(new), Some(old))
                if new["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"] =>
            {
                self.store(new)
            }
            (Call::Get | Call::Update(_), None) => Answer::NotFound,
            _ => Answer::Failed,
        }
    }

    fn store(&mut self, mut lease: Value) -> Answer {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        Answer::Lease(lease)
    }

    fn holds(&self) -> LeaderElectionRecord {
        LeaderElectionRecord::of(self.lease.as_ref().unwrap())
    }
}

/// One try of `elector`, whose calls `server` answers at once.
fn attempt(elector: &mut Elector, server: &mut Server, seconds: u64) -> Next {
    let mut next = elector.begin(at(seconds));
    while let Next::Call(call) = next {
        next = elector.answered(at(seconds), server.answer(call), 0.0);
    }
    next
}

/// One try whose calls fail.
fn attempt_in_vain(elector: &mut Elector, seconds: u64) -> Next {
    let mut next = elector.begin(at(seconds));
    while let Next::Call(_) = next {
        next = elector.answered(at(seconds), Answer::Failed, 0.0);
    }
    next
}

fn pause(seconds: u64) -> Next {
    Next::Pause(Duration::from_secs(seconds))
}

fn leads(elector: &Elector) -> bool {
    elector.lead_until().is_some()
}

#[test]
fn the_first_candidate_creates_the_lease_with_the_fields_of_the_original() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    assert_eq!(attempt(&mut a, &mut server, 0), pause(RETRY));
    assert_eq!(a.lead_until(), Some(Duration::from_secs(RENEW)));
    assert_eq!(
        server.lease.unwrap(),
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": "kube-scheduler", "namespace": "kube-system", "resourceVersion": "1"},
            "spec": {
                "holderIdentity": "a",
                "leaseDurationSeconds": 15,
                "acquireTime": "2023-11-14T22:13:20.000000Z",
                "renewTime": "2023-11-14T22:13:20.000000Z",
                "leaseTransitions": 0,
            },
        })
    );
}

#[test]
fn a_leader_renews_by_one_call_and_keeps_the_time_of_acquisition() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    let Next::Call(call @ Call::Update(_)) = a.begin(at(2)) else { panic!() };
    assert_eq!(a.answered(at(3), server.answer(call), 0.0), pause(RETRY));
    let record = server.holds();
    assert_eq!(record.acquire_time, "2023-11-14T22:13:20.000000Z");
    assert_eq!(record.renew_time, "2023-11-14T22:13:22.000000Z");
    assert_eq!(record.lease_transitions, 0);
    // From the start of the call, not from its answer.
    assert_eq!(a.lead_until(), Some(Duration::from_secs(12)));
}

#[test]
fn a_candidate_takes_over_when_the_lease_has_not_changed_for_its_duration() {
    let (mut a, mut b, mut server) = (candidate("a"), candidate("b"), Server::default());
    attempt(&mut a, &mut server, 0);
    assert_eq!(attempt(&mut b, &mut server, 5), pause(RETRY));
    attempt(&mut a, &mut server, 6);
    assert_eq!(attempt(&mut b, &mut server, 7), pause(RETRY));
    // Seen to change at 7, so free at 22; the wall clock, which jumped, says otherwise.
    assert_eq!(attempt(&mut b, &mut server, 21), pause(RETRY));
    assert!(!leads(&b));
    assert_eq!(attempt(&mut b, &mut server, 22), pause(RETRY));
    assert!(leads(&b));
    let record = server.holds();
    assert_eq!((&*record.holder, record.lease_transitions), ("b", 1));
    assert_eq!(record.acquire_time, record.renew_time);
}

#[test]
fn a_lease_that_names_nobody_is_taken_at_once() {
    let (mut b, mut server) = (candidate("b"), Server::default());
    let released = LeaderElectionRecord {
        lease_duration_seconds: 1,
        lease_transitions: 4,
        ..LeaderElectionRecord::default()
    };
    server.store(json!({"metadata": {"labels": {"kept": "yes"}}, "spec": released.spec()}));
    attempt(&mut b, &mut server, 0);
    assert!(leads(&b));
    assert_eq!(server.holds().lease_transitions, 5);
    assert_eq!(server.lease.unwrap()["metadata"]["labels"]["kept"], "yes");
}

#[test]
fn numbers_stay_within_what_a_lease_can_hold() {
    let mut server = Server::default();
    let record = LeaderElectionRecord { lease_transitions: NUMBER_MAX, ..Default::default() };
    let _ = server.store(json!({"metadata": {}, "spec": record.spec()}));
    let mut a = candidate("a");
    a.options.lease_duration = Duration::MAX;
    attempt(&mut a, &mut server, 0);
    let held = server.holds();
    assert_eq!(
        (held.lease_transitions, held.lease_duration_seconds),
        (2_147_483_647, 2_147_483_647)
    );
}

#[test]
fn of_two_candidates_at_once_one_leads() {
    let (mut a, mut b, mut server) = (candidate("a"), candidate("b"), Server::default());
    server.store(json!({"metadata": {}, "spec": LeaderElectionRecord::default().spec()}));
    let read = |elector: &mut Elector, server: &mut Server| {
        let Next::Call(call) = elector.begin(at(0)) else { panic!() };
        let Next::Call(call) = elector.answered(at(0), server.answer(call), 0.0) else { panic!() };
        call
    };
    let (of_a, of_b) = (read(&mut a, &mut server), read(&mut b, &mut server));
    let answer = server.answer(of_b);
    assert_eq!(b.answered(at(0), answer, 0.0), pause(RETRY));
    let answer = server.answer(of_a);
    assert_eq!(a.answered(at(0), answer, 1.0), Next::Pause(Duration::from_millis(4400)));
    assert_eq!((leads(&a), leads(&b)), (false, true));
}

#[test]
fn a_leader_that_cannot_renew_ends_before_others_may_begin() {
    let (mut a, mut b, mut server) = (candidate("a"), candidate("b"), Server::default());
    attempt(&mut a, &mut server, 0);
    attempt(&mut b, &mut server, 0);
    for second in [2, 4, 6, 8] {
        assert_eq!(attempt_in_vain(&mut a, second), pause(RETRY));
    }
    assert_eq!(attempt_in_vain(&mut a, 9), pause(1), "no longer than it leads");
    let lost = Next::Lost(Loss::Deadline(Duration::from_secs(RENEW)));
    assert_eq!(a.begin(at(10)), lost);
    attempt(&mut b, &mut server, 14);
    assert!(!leads(&b));
}

#[test]
fn an_answer_that_comes_too_late_renews_nothing() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    let Next::Call(call) = a.begin(at(9)) else { panic!() };
    let lost = Next::Lost(Loss::Deadline(Duration::from_secs(RENEW)));
    assert_eq!(a.answered(at(10), server.answer(call), 0.0), lost);
}

#[test]
fn a_renewal_whose_answer_was_lost_is_found_by_reading() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    let Next::Call(call) = a.begin(at(2)) else { panic!() };
    server.answer(call);
    let mut next = a.answered(at(3), Answer::Failed, 0.0);
    assert_eq!(next, Next::Call(Call::Get));
    while let Next::Call(call) = next {
        next = a.answered(at(4), server.answer(call), 0.0);
    }
    assert_eq!(next, pause(RETRY));
    assert_eq!(a.lead_until(), Some(Duration::from_secs(14)));
    assert_eq!((a.slow_paths(), server.holds().lease_transitions), (1, 0));
}

#[test]
fn a_leader_that_reads_anothers_name_is_none_from_then_on() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    let taken = LeaderElectionRecord { holder: "b".to_owned(), ..server.holds() };
    server.store(json!({"metadata": {}, "spec": taken.spec()}));
    assert_eq!(attempt(&mut a, &mut server, 2), Next::Lost(Loss::Taken("b".to_owned())));
}

#[test]
fn a_lease_that_was_deleted_is_created_again() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    server.lease = None;
    assert_eq!(attempt(&mut a, &mut server, 2), pause(RETRY));
    assert_eq!(server.holds().holder, "a");
}

#[test]
fn a_lease_that_was_deleted_stays_its_holders_for_as_long_as_it_said() {
    let mut server = Server::default();
    let (mut a, mut b) = (candidate("a"), candidate("b"));
    attempt(&mut a, &mut server, 0);
    attempt(&mut b, &mut server, 1);
    server.lease = None;
    attempt(&mut b, &mut server, 15);
    assert!(!leads(&b) && server.lease.is_none());
    attempt(&mut b, &mut server, 16);
    assert!(leads(&b));
}

#[test]
fn only_the_holder_gives_the_lease_up() {
    let (mut a, mut server) = (candidate("a"), Server::default());
    attempt(&mut a, &mut server, 0);
    let lease = server.lease.clone().unwrap();
    let released = LeaderElectionRecord::of(&a.release(at(3), lease.clone()).unwrap());
    assert_eq!((&*released.holder, released.lease_duration_seconds), ("", 1));
    assert_eq!(released.renew_time, "2023-11-14T22:13:23.000000Z");
    assert_eq!(candidate("b").release(at(3), lease), None);
}

#[test]
fn a_duration_with_a_fraction_of_a_second_is_rounded_up_for_others() {
    let mut a = candidate("a");
    a.options.lease_duration = Duration::from_millis(10_500);
    let mut server = Server::default();
    attempt(&mut a, &mut server, 0);
    assert_eq!(server.holds().lease_duration_seconds, 11);
}
