//! Service-account tokens: JSON Web Tokens signed with ES256.
//!
//! The claims are those of kube-apiserver 1.36. What a token says about objects is true when it is
//! signed; whether they still exist is looked up whenever it is shown (`api::tokens`).
//!
//! Source: `pkg/serviceaccount` 1.36.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Who signed: the `iss` of every token.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Whom tokens are for unless they say otherwise: the API server.
pub const AUDIENCE: &str = ISSUER;

/// How far clocks may be apart.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// An object that a token speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// Its name.
    pub name: String,
    /// Its uid; empty for a node that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// What a token says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Whom the token is for.
    pub aud: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub exp: i64,
    /// When it was signed.
    pub iat: i64,
    /// Who signed it.
    pub iss: String,
    /// Its own name.
    pub jti: String,
    /// Whose it is.
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: Kubernetes,
    /// When it begins.
    pub nbf: i64,
    /// The user name.
    pub sub: String,
}

/// The part of the claims that is Kubernetes' own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// The namespace of the service account.
    pub namespace: String,
    /// The node on which the pod runs, or that the token is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<BoundObject>,
    /// The pod that the token is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<BoundObject>,
    /// The secret that the token is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<BoundObject>,
    /// The service account.
    pub serviceaccount: BoundObject,
    /// When a pod's token should have been replaced, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// Why a token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is not one of ours: of another form, issuer or key.
    #[error("invalid bearer token")]
    Invalid,
    /// Its time is over.
    #[error("service account token has expired")]
    Expired,
    /// Its time has not come.
    #[error("service account token is not valid yet")]
    NotYet,
    /// It was signed in the future.
    #[error("service account token is issued in the future")]
    FromTheFuture,
}

/// The key that signs tokens.
pub struct Tokens {
    key: EcdsaKeyPair,
    random: SystemRandom,
    header: String,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("header", &self.header).finish_non_exhaustive()
    }
}

impl Tokens {
    /// A new key.
    pub(crate) fn new() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random)
            .expect("the system has random numbers");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random)
            .expect("the key was made for this algorithm");
        let kid = URL_SAFE_NO_PAD.encode(Sha256::digest(key.public_key().as_ref()));
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": "ES256", "kid": kid}).to_string());
        Self { key, random, header }
    }

    /// Signs the claims of a service account, valid from `now` for `lifetime`; the issuer, the
    /// times and the token's name are filled in.
    pub fn sign(&self, mut claims: Claims, now: Timestamp, lifetime: SignedDuration) -> String {
        claims.iat = now.as_second();
        claims.nbf = claims.iat;
        claims.exp = claims.iat.saturating_add(lifetime.as_secs());
        ISSUER.clone_into(&mut claims.iss);
        claims.jti = Uuid::new_v4().to_string();
        let claims = serde_json::to_string(&claims).expect("claims are texts and numbers");
        let signed = format!("{}.{}", self.header, URL_SAFE_NO_PAD.encode(claims));
        let signature =
            self.key.sign(&self.random, signed.as_bytes()).expect("the system has random numbers");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// What a token says, if it was signed here and `now` is in its time.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn read(&self, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Invalid)?;
        let (header, claims) = signed.split_once('.').ok_or(TokenError::Invalid)?;
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Invalid);
        if header != self.header {
            return Err(TokenError::Invalid);
        }
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.key.public_key().as_ref())
            .verify(signed.as_bytes(), &decoded(signature)?)
            .map_err(|_| TokenError::Invalid)?;
        let claims: Claims =
            serde_json::from_slice(&decoded(claims)?).map_err(|_| TokenError::Invalid)?;
        let at = |seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
        let late = now.saturating_sub(LEEWAY).unwrap_or(now);
        let early = now.saturating_add(LEEWAY).unwrap_or(now);
        if early < at(claims.nbf) {
            return Err(TokenError::NotYet);
        }
        if late > at(claims.exp) {
            return Err(TokenError::Expired);
        }
        if early < at(claims.iat) {
            return Err(TokenError::FromTheFuture);
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn claims() -> Claims {
        let account = BoundObject { name: "robot".to_owned(), uid: "u1".to_owned() };
        Claims {
            aud: vec![AUDIENCE.to_owned()],
            sub: "system:serviceaccount:ns:robot".to_owned(),
            kubernetes: Kubernetes {
                namespace: "ns".to_owned(),
                serviceaccount: account,
                ..Kubernetes::default()
            },
            ..Claims::default()
        }
    }

    #[test]
    fn a_token_says_what_was_signed_until_a_minute_after_its_end() {
        let (tokens, now) = (Tokens::new(), Timestamp::now());
        let token = tokens.sign(claims(), now, HOUR);
        let read = tokens.read(&token, now).unwrap();
        assert_eq!((read.sub.as_str(), read.iss.as_str()), (claims().sub.as_str(), ISSUER));
        assert_eq!((read.iat, read.exp - read.iat), (now.as_second(), 3600));
        let seconds = |it| now + SignedDuration::from_secs(it);
        assert!(tokens.read(&token, seconds(3659)).is_ok());
        assert_eq!(tokens.read(&token, seconds(3662)), Err(TokenError::Expired));
        assert_eq!(tokens.read(&token, seconds(-62)), Err(TokenError::NotYet));
    }

    #[test]
    fn a_token_of_another_key_or_with_other_claims_is_not_believed() {
        let (tokens, now) = (Tokens::new(), Timestamp::now());
        let token = tokens.sign(claims(), now, HOUR);
        assert_eq!(Tokens::new().read(&token, now), Err(TokenError::Invalid));
        let parts: Vec<&str> = token.split('.').collect();
        let mut other = claims();
        other.sub = "system:serviceaccount:ns:root".to_owned();
        let other = URL_SAFE_NO_PAD.encode(serde_json::to_string(&other).unwrap());
        for forged in [
            format!("{}.{other}.{}", parts[0], parts[2]),
            format!("{}.{}.", parts[0], parts[1]),
            format!("{}.{}", parts[0], parts[1]),
            "zzz".to_owned(),
            String::new(),
        ] {
            assert_eq!(tokens.read(&forged, now), Err(TokenError::Invalid), "{forged}");
        }
    }
}
