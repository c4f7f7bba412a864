//! The bodies are recordings of kubectl 1.36 and kube-scheduler 1.36.

use super::*;
use serde_json::json;

fn body(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap()
}

const DEPLOYMENT: &str = "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EtEBCiwKBWhlbGxvEgAaCXdpcmUtazEzNiIAKgAyADgAQgBaDAoDYXBwEgVoZWxsbxKSAQgGEg4KDAoDYXBwEgVoZWxsbxp2Ch4KABIAGgAiACoAMgA4AEIAWgwKA2FwcBIFaGVsbG8SVBI2CgVwYXVzZRIZcmVnaXN0cnkuazhzLmlvL3BhdXNlOjMuOSoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA";

#[test]
fn create_deployment_decodes_without_go_s_zero_values() {
    assert_eq!(
        decode(&body(DEPLOYMENT)).unwrap(),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "hello", "namespace": "wire-k136", "labels": {"app": "hello"}},
            "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "hello"}},
                "template": {"metadata": {"labels": {"app": "hello"}},
                    "spec": {"containers": [{"name": "pause",
                        "image": "registry.k8s.io/pause:3.9", "resources": {}}]}},
                "strategy": {}},
            "status": {}})
    );
}

#[test]
fn a_micro_time_keeps_its_six_decimals() {
    let event = decode(&body("azhzAAoZChBldmVudHMuazhzLmlvL3YxEgVFdmVudBKHAgovChVmaXRzLjE4ZWM5MTljMDRhMTlkZWUSABoKd2lyZS1zY2hlZCIAKgAyADgAQgASDAiSq7HYBhDgmKHKAiIOd2lyZS1zY2hlZHVsZXIqEXdpcmUtc2NoZWR1bGVyLXZtMgdCaW5kaW5nOglTY2hlZHVsZWRCSQoDUG9kEgp3aXJlLXNjaGVkGgRmaXRzIiRkNWE2YTg2Zi0zZDU0LTQxZjgtYmQzMC0zNmQ4MjA4Y2NiNTEqAnYxMgQ0NjE1OgBSMFN1Y2Nlc3NmdWxseSBhc3NpZ25lZCB3aXJlLXNjaGVkL2ZpdHMgdG8gd2lyZS1uMloGTm9ybWFsYgQKABIAagByAHgAGgAiAA==")).unwrap();
    assert_eq!(
        event,
        json!({"apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "fits.18ec919c04a19dee", "namespace": "wire-sched"},
            "eventTime": "2026-11-29T16:40:50.692604Z", "reportingController": "wire-scheduler",
            "reportingInstance": "wire-scheduler-vm", "action": "Binding", "reason": "Scheduled",
            "regarding": {"kind": "Pod", "namespace": "wire-sched", "name": "fits",
                "uid": "d5a6a86f-3d54-41f8-bd30-36d8208ccb51", "apiVersion": "v1",
                "resourceVersion": "4615"},
            "note": "Successfully assigned wire-sched/fits to wire-n2", "type": "Normal",
            "deprecatedSource": {}})
    );
}

#[test]
fn secret_bytes_become_base64() {
    let secret = decode(&body(
        "azhzAAoMCgJ2MRIGU2VjcmV0EiMKFwoBcRIAGgZ3aXJlLW0iACoAMgA4AEIAEgYKAWESAWIaABoAIgA=",
    ))
    .unwrap();
    assert_eq!(secret["data"], json!({"a": "Yg=="}));
}

#[test]
fn an_int_or_string_is_a_number_or_text() {
    let budget = decode(&body("azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOQoXCgFxEgAaBndpcmUtbSIAKgAyADgAQgASEgoGCAAQARoAEggKBgoBYRIBYhoKCAAYACAAKAAwABoAIgA=")).unwrap();
    assert_eq!(budget["spec"], json!({"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}));
}

#[test]
fn quantities_are_their_text() {
    let quota = decode(&body("azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRIqChcKAXESABoGd2lyZS1tIgAqADIAOABCABINCgsKBHBvZHMSAwoBMRoAGgAiAA==")).unwrap();
    assert_eq!(quota["spec"], json!({"hard": {"pods": "1"}}));
}

#[test]
fn inlined_messages_are_written_into_their_parent() {
    let ingress = decode(&body("azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJCChcKAXESABoGd2lyZS1tIgAqADIAOABCABIjGiEKAWESHAoaChgKAi9iEgsiCQoBYxIECgAQUBoFRXhhY3QaAgoAGgAiAA==")).unwrap();
    assert_eq!(
        ingress["spec"]["rules"],
        json!([{"host": "a", "http": {"paths": [{"path": "/b", "pathType": "Exact",
            "backend": {"service": {"name": "c", "port": {"number": 80}}}}]}}])
    );
}

#[test]
fn delete_options_may_be_empty() {
    let options = decode(&body("azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIAGgAiAA==")).unwrap();
    assert_eq!(options, json!({"apiVersion": "v1", "kind": "DeleteOptions"}));
}

#[test]
fn an_access_review_decodes() {
    let review = decode(&body("azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSQQoQCgASABoAIgAqADIAOABCABIjCiEKCXdpcmUtazEzNhIGY3JlYXRlGgAiACoEcG9kczIAOgAaCAgAEgAaACAAGgAiAA==")).unwrap();
    assert_eq!(
        review["spec"]["resourceAttributes"],
        json!({"namespace": "wire-k136", "verb": "create", "resource": "pods"})
    );
}

#[test]
fn malformed_bodies_are_errors() {
    assert_eq!(decode(b"{\"kind\":1}"), Err(ProtobufError::NoPrefix));
    assert_eq!(decode(b"k8s\0\x0a"), Err(ProtobufError::CutShort));
    assert_eq!(decode(b"k8s\0\x0a\x7f\x01"), Err(ProtobufError::CutShort));
    let eleven = [b"k8s\0\x08".as_slice(), &[0xff; 11]].concat();
    assert_eq!(decode(&eleven), Err(ProtobufError::LongNumber));
    assert!(matches!(decode(b"k8s\0\x0b"), Err(ProtobufError::WireType { wire_type: 3, .. })));
    assert!(matches!(decode(b"k8s\0"), Err(ProtobufError::UnknownKind { .. })));
}

#[test]
fn no_cut_or_flipped_byte_of_a_real_body_panics() {
    let whole = body(DEPLOYMENT);
    for index in 0..whole.len() {
        let _ = decode(&whole[..index]);
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[index] ^= 1 << bit;
            let _ = decode(&flipped);
        }
    }
}
