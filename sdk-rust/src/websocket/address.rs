//! The address of an agent's WebSocket. Each connection attempt adds its name and the number of received
//! messages.

use tokio_tungstenite::tungstenite::http::Uri;

use super::error::ConnectError;

/// The address of a WebSocket.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// Host and port, as `HOST:PORT`.
    pub host: String,
    pub is_secure: bool,
    uri: Uri,
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, ConnectError> {
        let wrong = |reason: &str| ConnectError::Address(reason.to_owned());
        let uri: Uri = text.parse().map_err(|_| wrong("it is not a valid URI"))?;
        let is_secure = match uri.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            _ => return Err(wrong("it begins with neither ws:// nor wss://")),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { host: format!("{host}:{port}"), is_secure, uri })
    }

    /// Returns the address for a connection of the given name. `have` is the number of messages that it has
    /// received, if any.
    pub fn joined(&self, name: &str, have: Option<u64>) -> String {
        let (scheme, authority) = (self.uri.scheme_str().unwrap_or("ws"), self.uri.authority());
        let authority = authority.map_or("", |authority| authority.as_str());
        let own = self.uri.query().map(|query| format!("{query}&")).unwrap_or_default();
        let have = have.map(|count| format!("&have={count}")).unwrap_or_default();
        format!("{scheme}://{authority}{}?{own}tab={name}{have}", self.uri.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_the_connection_parameters() {
        let address = Address::parse("ws://127.0.0.1:4711/token/ws").unwrap();
        assert_eq!((address.host.as_str(), address.is_secure), ("127.0.0.1:4711", false));
        assert_eq!(address.joined("a", None), "ws://127.0.0.1:4711/token/ws?tab=a");
        let address = Address::parse("wss://[::1]/ws?all=1").unwrap();
        assert_eq!((address.host.as_str(), address.is_secure), ("[::1]:443", true));
        assert_eq!(address.joined("a", Some(7)), "wss://[::1]/ws?all=1&tab=a&have=7");
    }

    #[test]
    fn an_address_of_another_scheme_is_rejected_and_not_shown() {
        for text in ["http://127.0.0.1/secret", "127.0.0.1/secret", "ws:///secret", "", "ws://h/sec ret"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with("not the address of a WebSocket") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
