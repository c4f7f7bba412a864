//! The protobuf wire format: tags, varints and length-delimited values.

use serde_json::Value;

use super::ProtobufError;
use crate::schema::Field;

/// One value as it lies on the wire.
#[derive(Debug)]
pub(super) enum WireValue<'a> {
    /// Wire type 0.
    Number(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Wire types 1 and 5, which no field of the table has.
    Fixed(u8),
}

impl WireValue<'_> {
    /// The error for a value whose wire type its field cannot have.
    pub(super) fn unfit(&self, field: &Field) -> ProtobufError {
        let wire_type = match self {
            Self::Number(_) => 0,
            Self::Bytes(_) => 2,
            Self::Fixed(wire_type) => *wire_type,
        };
        ProtobufError::WireType { field: field.name.clone(), wire_type }
    }
}

/// Reads the fields of one message in order.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of a message.
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field's number and value, or nothing at the message's end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, WireValue<'a>)>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => WireValue::Number(self.varint()?),
            1 => self.take(8).map(|_| WireValue::Fixed(1))?,
            2 => {
                let length =
                    usize::try_from(self.varint()?).map_err(|_| ProtobufError::CutShort)?;
                WireValue::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| WireValue::Fixed(5))?,
            other => {
                let wire_type = u8::try_from(other).unwrap_or(u8::MAX);
                let field = (tag >> 3).to_string();
                return Err(ProtobufError::WireType { field, wire_type });
            }
        };
        Ok(Some((tag >> 3, value)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ProtobufError::CutShort)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut number = 0_u64;
        for index in 0..10 {
            let (&byte, rest) = self.rest.split_first().ok_or(ProtobufError::CutShort)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ProtobufError::LongNumber)
    }
}

/// The numbers of a packed list.
pub(super) fn packed_numbers(packed: &[u8]) -> Result<Vec<Value>, ProtobufError> {
    let mut reader = Reader::new(packed);
    let mut numbers = Vec::new();
    while !reader.rest.is_empty() {
        numbers.push(Value::from(reader.varint()?.cast_signed()));
    }
    Ok(numbers)
}
