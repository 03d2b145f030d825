//! Where NATS is, and how to be let in.

use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};
use std::path::PathBuf;

/// The variable with the password for the user in the address. There is no flag: every process list shows flags.
pub const PASSWORD: &str = "NQUEENS_NATS_PASSWORD";
/// The variable with a token.
pub const TOKEN: &str = "NQUEENS_NATS_TOKEN";

/// See the module.
#[derive(Args, Clone, Debug, Default)]
pub struct Nats {
    /// NATS servers with JetStream, as nats://host:4222 or tls://user@host (commas between); a password in it only here:
    #[arg(long = "nats-url", env = "NQUEENS_NATS_URL", hide_env_values = true, value_name = "URL", value_parser = url)]
    pub url: Option<SecretString>,
    /// A file with NATS credentials (a signed user and its key)
    #[arg(long = "nats-credentials", env = "NQUEENS_NATS_CREDENTIALS", value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// A file with the certificates of those who may vouch for NATS, as PEM [default: those that the system knows]
    #[arg(long = "nats-ca", env = "NQUEENS_NATS_CA", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// The password for the user in the address.
    #[arg(skip)]
    pub password: Option<SecretString>,
    /// A token.
    #[arg(skip)]
    pub token: Option<SecretString>,
}

impl Nats {
    /// Takes the secrets out of the environment.
    pub(super) fn take_secrets(&mut self) {
        let secret = |name| std::env::var(name).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        self.password = secret(PASSWORD).map(SecretString::from);
        self.token = secret(TOKEN).map(SecretString::from);
    }

    /// The servers' addresses, without users and passwords, so that these are in no line about a server.
    #[must_use]
    pub fn servers(&self) -> Vec<String> {
        let without = |server: &str| match (server.split_once("://"), server.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => server.to_owned(),
        };
        self.written().map(without).collect()
    }

    /// The user, if an address has one, and the password: of the environment, else of the address.
    #[must_use]
    pub fn login(&self) -> Option<(&str, &str)> {
        let login = self.written().find_map(login)?;
        let (user, in_address) = login.split_once(':').unwrap_or((login, ""));
        Some((user, self.password.as_ref().map_or(in_address, |password| password.expose_secret())))
    }

    /// Whether there is a password in the address.
    pub(super) fn has_password(&self) -> bool {
        self.written().filter_map(login).any(|login| login.contains(':'))
    }

    /// The addresses as they were written.
    fn written(&self) -> impl Iterator<Item = &str> {
        self.url.iter().flat_map(|url| url.expose_secret().split(',')).map(str::trim)
    }
}

/// What stands before the host.
fn login(server: &str) -> Option<&str> {
    Some(server.split_once("://")?.1.rsplit_once('@')?.0)
}

/// It may have a password in it, so nothing of it is repeated.
fn url(text: &str) -> Result<SecretString, &'static str> {
    let is_one = |server: &str| {
        let rest = server.trim().split_once("://").filter(|(scheme, _)| matches!(*scheme, "nats" | "tls"));
        let host = rest.map(|(_, rest)| rest.rsplit_once('@').map_or(rest, |(_, host)| host));
        host.is_some_and(|host| {
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            !name.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/')
        })
    };
    if text.split(',').all(is_one) { Ok(text.into()) } else { Err("write it as nats://host:4222") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nats(text: &str) -> Nats {
        Nats { url: Some(url(text).expect("an address")), ..Nats::default() }
    }

    #[test]
    fn addresses_may_have_users_and_several_servers() {
        let two = nats("nats://a:4222, tls://me:secret@b");
        assert_eq!(two.servers(), ["nats://a:4222", "tls://b"]);
        assert!(two.login() == Some(("me", "secret")) && two.has_password());
        let one = Nats { password: Some("other".into()), ..nats("tls://me@b:1") };
        assert!(one.login() == Some(("me", "other")) && !one.has_password() && !format!("{two:?}").contains("secret"));
        assert!(nats("nats://[::1]:4222").login().is_none());
        for text in
            ["", "a:4222", "http://a", "nats://", "nats://a/b", "nats://a b", "nats://me@", "nats://a,", "nats://:1"]
        {
            assert!(url(text).is_err(), "{text}");
        }
    }
}
