//! A map whose first members have already been read, for a second decoder.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess};
use serde_json::Value;

/// Yields the members read in advance, then the members of the remaining map.
#[derive(Debug)]
pub struct Replay<A> {
    ahead: std::vec::IntoIter<(String, Value)>,
    value: Option<Value>,
    rest: A,
}

impl<A> Replay<A> {
    /// Creates a map with the members `ahead`, followed by the members of `rest`.
    pub fn new(ahead: Vec<(String, Value)>, rest: A) -> Self {
        Replay { ahead: ahead.into_iter(), value: None, rest }
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Replay<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.ahead.next() {
            Some((name, value)) => {
                self.value = Some(value);
                seed.deserialize(StrDeserializer::new(&name)).map(Some)
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}
