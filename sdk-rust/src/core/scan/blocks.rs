//! The end of a string full of quotes, looked for in blocks of 64 bytes.

/// With fewer quotes than these in 64 bytes hopping is the faster way again.
const MANY_QUOTES: u32 = 2;

/// What [`blocks`] came to.
pub(super) enum Hop {
    /// The quote that ends the string is at this offset.
    End(usize),
    /// The string goes on at this offset.
    Over(usize),
}

/// Looks for the end of a string, of which `rest` is the rest, block by block, as long as blocks are full of
/// quotes. The first byte of `rest` is not escaped.
#[inline(never)]
pub(super) fn blocks(rest: &[u8]) -> Hop {
    let mut carried = 0;
    let mut offset = 0;
    for block in rest.as_chunks::<64>().0 {
        let quotes = matches(block, b'"');
        let backslashes = matches(block, b'\\');
        let ends = quotes & !escapes(backslashes, &mut carried);
        if ends != 0 {
            return Hop::End(offset + ends.trailing_zeros() as usize);
        }
        offset += block.len();
        if quotes.count_ones() < MANY_QUOTES {
            break;
        }
    }
    Hop::Over(offset)
}

/// Which bytes are `wanted`: one bit each, the first byte's lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
fn matches(block: &[u8; 64], wanted: u8) -> u64 {
    let mut bits = 0;
    for (index, sixteen) in block.as_chunks::<16>().0.iter().enumerate() {
        bits |= u64::from(matches_of_sixteen(sixteen, wanted)) << (16 * index);
    }
    bits
}

/// Which bytes are `wanted`: one bit each, the first byte's lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
fn matches_of_sixteen(sixteen: &[u8; 16], wanted: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are there to be read.
    #[allow(unsafe_code)]
    let mask = unsafe {
        let sixteen = _mm_loadu_si128(sixteen.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_set1_epi8(wanted.cast_signed())))
    };
    mask.cast_unsigned()
}

/// The offset of the first quote or backslash among the first bytes of a string, of which `rest` is the rest; or how many of
/// them are neither.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn first(rest: &[u8]) -> Result<usize, usize> {
    let mut offset = 0;
    for sixteen in rest.as_chunks::<16>().0.iter().take(3) {
        let found = matches_of_sixteen(sixteen, b'"') | matches_of_sixteen(sixteen, b'\\');
        if found != 0 {
            return Ok(offset + found.trailing_zeros() as usize);
        }
        offset += sixteen.len();
    }
    Err(offset)
}

/// The offset of the first quote or backslash among the first bytes of a string, of which `rest` is the rest; or how many of
/// them are neither.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn first(rest: &[u8]) -> Result<usize, usize> {
    let rest = &rest[..rest.len().min(16)];
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(rest.len())
}

/// Which bytes are `wanted`: one bit each, the first byte's lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn matches(block: &[u8; 64], wanted: u8) -> u64 {
    // Each byte that matches becomes its bit within a group of eight; this loop is what compilers vectorize.
    let mut weights = [0u8; 64];
    for (index, byte) in block.iter().enumerate() {
        weights[index] = if *byte == wanted { 1 << (index % 8) } else { 0 };
    }
    let mut groups = [0u8; 8];
    for (group, eight) in groups.iter_mut().zip(weights.as_chunks::<8>().0) {
        // Multiplying adds the eight up in the highest byte.
        *group = (u64::from_le_bytes(*eight).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u8;
    }
    u64::from_le_bytes(groups)
}

/// Which bytes are escaped, given which are backslashes. `carried` says whether the first one is, and then
/// whether the byte after the last one is.
///
/// A run of backslashes escapes every second byte from its start on. Subtracting the starts carries through
/// each run, so that all are resolved at once (the method is simdjson's).
#[inline]
fn escapes(backslashes: u64, carried: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carried;
    let codes = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    let escaped = codes ^ (backslashes | *carried);
    *carried = (codes & backslashes) >> 63;
    escaped
}
