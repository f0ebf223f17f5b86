//! Who speaks: an agreement of fresh keys on both sides, each signed by a key that the other knows beforehand. Whatever
//! goes over NATS after it is sealed: a plan's secrets are for its agent alone, which obeys only the controller whose
//! key it was given. Who reaches the NATS server can keep messages back, no more: what was recorded of another run
//! opens nothing, what is played again is old to the protocol, which counts, and what is kept back longer than a lease
//! has expired. So no plan needs a signature and a nonce of its own.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::SystemRandom;
use ring::signature::{self, Ed25519KeyPair, KeyPair};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Prony's version and the protocol's: both sides must have the same.
    pub version: String,
    /// What an agent of a pool is called; nothing where its controller has named it.
    pub name: String,
    /// A public key of X25519, of this run alone.
    pub key: Vec<u8>,
    /// By Ed25519, over what [`signed`] says.
    signature: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Controller,
    Agent,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Side::Controller => "controller",
            Side::Agent => "agent",
        }
    }

    pub(crate) fn other(self) -> Side {
        match self {
            Side::Controller => Side::Agent,
            Side::Agent => Side::Controller,
        }
    }
}

pub fn version() -> String {
    format!("{} protocol {}", env!("CARGO_PKG_VERSION"), crate::protocol::PROTOCOL)
}

pub fn new_key() -> Result<(Vec<u8>, Vec<u8>), String> {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| no_random())?;
    let public = key_pair(pkcs8.as_ref())?.public_key().as_ref().to_vec();
    Ok((pkcs8.as_ref().to_vec(), public))
}

fn key_pair(pkcs8: &[u8]) -> Result<Ed25519KeyPair, String> {
    Ed25519KeyPair::from_pkcs8(pkcs8).map_err(|_| "a signing key is broken".to_owned())
}

fn no_random() -> String {
    "the system gave no random numbers".to_owned()
}

pub fn public_key(pkcs8: &[u8]) -> Result<Vec<u8>, String> {
    Ok(key_pair(pkcs8)?.public_key().as_ref().to_vec())
}

pub(crate) fn sign(pkcs8: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    Ok(key_pair(pkcs8)?.sign(text).as_ref().to_vec())
}

pub(crate) fn verify(public: &[u8], text: &[u8], signature: &[u8]) -> Option<()> {
    signature::UnparsedPublicKey::new(&signature::ED25519, public).verify(text, signature).ok()
}

/// What a greeting's signature is over; the other's key only where it is known.
fn signed(channel: &str, side: Side, version: &str, name: &str, key: &[u8], theirs: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    for part in [
        b"prony fleet".as_slice(),
        channel.as_bytes(),
        side.name().as_bytes(),
        version.as_bytes(),
        name.as_bytes(),
        key,
        theirs,
    ] {
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part);
    }
    text
}

pub struct Opening {
    side: Side,
    channel: String,
    private: EphemeralPrivateKey,
    public: Vec<u8>,
}

impl Opening {
    /// A fresh key for this channel: a run and an agent of it.
    pub fn new(side: Side, channel: &str) -> Result<Opening, String> {
        let private =
            EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(|_| no_random())?;
        let public = private.compute_public_key().map_err(|_| no_random())?.as_ref().to_vec();
        Ok(Opening { side, channel: channel.to_owned(), private, public })
    }

    /// Its half, signed by `pkcs8`; `name` is what an agent of a pool is called, `theirs` the other's key, where it is known.
    pub fn greeting(&self, pkcs8: &[u8], name: &str, theirs: &[u8]) -> Result<Greeting, String> {
        let version = version();
        let text = signed(&self.channel, self.side, &version, name, &self.public, theirs);
        let signature = sign(pkcs8, &text)?;
        Ok(Greeting { version, name: name.to_owned(), key: self.public.clone(), signature })
    }

    /// Whether the other's half is signed by whom it must be. The agent speaks first: the other half is over its key.
    pub fn is_genuine(&self, theirs: &Greeting, their_key: &[u8]) -> bool {
        let mine = if self.side == Side::Agent { self.public.as_slice() } else { &[] };
        let text = signed(&self.channel, self.side.other(), &theirs.version, &theirs.name, &theirs.key, mine);
        verify(their_key, &text, &theirs.signature).is_some()
    }

    pub fn agree(self, theirs: &Greeting, their_key: &[u8]) -> Result<Session, String> {
        if !self.is_genuine(theirs, their_key) {
            return Err(format!("the {}'s greeting is not signed by its key", self.side.other().name()));
        }
        if theirs.version != version() {
            return Err(format!(
                "the {} is Prony {}, and the {} is Prony {}: both must be the same",
                self.side.other().name(),
                theirs.version,
                self.side.name(),
                version()
            ));
        }
        let keys = match self.side {
            Side::Agent => [self.public.as_slice(), theirs.key.as_slice()].concat(),
            Side::Controller => [theirs.key.as_slice(), self.public.as_slice()].concat(),
        };
        let (side, channel) = (self.side, self.channel);
        let peer = UnparsedPublicKey::new(&X25519, &theirs.key);
        agree_ephemeral(self.private, &peer, |secret| {
            let of = |side: Side| sealing_key(secret, &channel, side, &keys);
            Some(Session { sends: of(side)?, takes: of(side.other())?, side, sent: 0 })
        })
        .ok()
        .flatten()
        .ok_or_else(|| "the other side's key is not a valid one".to_owned())
    }
}

fn sealing_key(secret: &[u8], channel: &str, side: Side, keys: &[u8]) -> Option<LessSafeKey> {
    let random = Salt::new(HKDF_SHA256, channel.as_bytes()).extract(secret);
    let info = [side.name().as_bytes(), keys];
    let key: UnboundKey = random.expand(&info, &CHACHA20_POLY1305).ok()?.into();
    Some(LessSafeKey::new(key))
}

#[derive(Debug)]
pub struct Session {
    sends: LessSafeKey,
    takes: LessSafeKey,
    side: Side,
    /// Messages sealed; each has a nonce of its own.
    sent: u64,
}

impl Session {
    pub fn seal(&mut self, plain: Vec<u8>) -> Result<Vec<u8>, String> {
        self.sent += 1;
        let mut sealed = plain;
        self.sends
            .seal_in_place_append_tag(nonce(self.sent), aad(self.side), &mut sealed)
            .map_err(|_| "a message is too long to be sealed".to_owned())?;
        sealed.extend_from_slice(&self.sent.to_le_bytes());
        Ok(sealed)
    }

    /// What the other side sealed; `None` of anything else.
    pub fn open(&self, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let at = sealed.len().checked_sub(8)?;
        let number = u64::from_le_bytes(sealed.get(at..)?.try_into().ok()?);
        sealed.truncate(at);
        let length = self.takes.open_in_place(nonce(number), aad(self.side.other()), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn aad(side: Side) -> Aad<&'static [u8]> {
    Aad::from(side.name().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Keys {
        controller: (Vec<u8>, Vec<u8>),
        agent: (Vec<u8>, Vec<u8>),
    }

    fn keys() -> Keys {
        Keys { controller: new_key().unwrap(), agent: new_key().unwrap() }
    }

    fn sessions(keys: &Keys) -> (Session, Session) {
        let agent = Opening::new(Side::Agent, "run/1").unwrap();
        let controller = Opening::new(Side::Controller, "run/1").unwrap();
        let hello = agent.greeting(&keys.agent.0, "", &[]).unwrap();
        let welcome = controller.greeting(&keys.controller.0, "", &hello.key).unwrap();
        let of_controller = controller.agree(&hello, &keys.agent.1).unwrap();
        (agent.agree(&welcome, &keys.controller.1).unwrap(), of_controller)
    }

    #[test]
    fn what_one_seals_the_other_opens_and_nobody_else() {
        let keys = keys();
        let (mut agent, mut controller) = sessions(&keys);
        let (other, _) = sessions(&keys);
        let sealed = controller.seal(b"a plan with a secret".to_vec()).unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(agent.open(sealed.clone()).unwrap(), b"a plan with a secret");
        assert_eq!(other.open(sealed.clone()), None, "another session of the same keys");
        assert_eq!(controller.open(sealed.clone()), None, "back to who sealed it");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(agent.open(changed), None, "byte {at}");
        }
        assert_eq!(agent.open(sealed[..7].to_vec()), None);
        let back = agent.seal(Vec::new()).unwrap();
        assert_eq!(controller.open(back).unwrap(), b"");
    }

    #[test]
    fn a_greeting_of_a_stranger_or_for_another_is_refused() {
        let (keys, strangers) = (keys(), keys_of_strangers());
        let agent = || Opening::new(Side::Agent, "run/1").unwrap();
        let controller = Opening::new(Side::Controller, "run/1").unwrap();
        let waiting = agent();
        let hello = waiting.greeting(&keys.agent.0, "", &[]).unwrap();
        let forged = controller.greeting(&strangers.controller.0, "", &hello.key).unwrap();
        assert!(agent().agree(&forged, &keys.controller.1).unwrap_err().contains("not signed by its key"));
        // Recorded for another agent key, or another run.
        let recorded = controller.greeting(&keys.controller.0, "", &hello.key).unwrap();
        assert!(agent().agree(&recorded, &keys.controller.1).is_err());
        let elsewhere = Opening::new(Side::Controller, "run/2").unwrap();
        let elsewhere = elsewhere.greeting(&keys.controller.0, "", &hello.key).unwrap();
        assert!(waiting.agree(&elsewhere, &keys.controller.1).is_err());
    }

    fn keys_of_strangers() -> Keys {
        keys()
    }

    #[test]
    fn another_version_is_named() {
        let keys = keys();
        let (agent, controller) =
            (Opening::new(Side::Agent, "c").unwrap(), Opening::new(Side::Controller, "c").unwrap());
        let mut hello = agent.greeting(&keys.agent.0, "", &[]).unwrap();
        hello.version = "0.0.1 protocol 1".to_owned();
        let text = signed("c", Side::Agent, &hello.version, "", &hello.key, &[]);
        hello.signature = sign(&keys.agent.0, &text).unwrap();
        let refused = controller.agree(&hello, &keys.agent.1).unwrap_err();
        assert!(
            refused.contains("0.0.1 protocol 1") && refused.contains("both must be the same"),
            "{refused}"
        );
    }
}
