//! Search for the end of a string in blocks of 64 bytes, for strings with many quotes.

/// Minimum number of quotes in 64 bytes. With fewer quotes, a search from quote to quote is faster.
const MANY_QUOTES: u32 = 2;

/// Result of [`scan_blocks`].
pub(super) enum ScanStep {
    /// Offset of the quote that ends the string.
    End(usize),
    /// The string continues at this offset.
    Continue(usize),
}

/// Searches for the end of a string block by block, and stops after a block with few quotes. `rest` is the part
/// of the string to search; its first byte is not escaped.
#[inline(never)]
pub(super) fn scan_blocks(rest: &[u8]) -> ScanStep {
    let mut carried = 0;
    let mut offset = 0;
    for block in rest.as_chunks::<64>().0 {
        let quotes = matches(block, b'"');
        let backslashes = matches(block, b'\\');
        let ends = quotes & !escapes(backslashes, &mut carried);
        if ends != 0 {
            return ScanStep::End(offset + ends.trailing_zeros() as usize);
        }
        offset += block.len();
        if quotes.count_ones() < MANY_QUOTES {
            break;
        }
    }
    ScanStep::Continue(offset)
}

/// Returns a bit for each byte that equals `wanted`; the first byte has the lowest bit.
#[cfg(target_arch = "x86_64")]
#[inline]
fn matches(block: &[u8; 64], wanted: u8) -> u64 {
    let mut bits = 0;
    for (index, sixteen) in block.as_chunks::<16>().0.iter().enumerate() {
        bits |= u64::from(matches_of_sixteen(sixteen, wanted)) << (16 * index);
    }
    bits
}

/// Returns a bit for each byte that equals `wanted`; the first byte has the lowest bit.
#[cfg(target_arch = "x86_64")]
#[inline]
fn matches_of_sixteen(sixteen: &[u8; 16], wanted: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are readable.
    #[allow(unsafe_code)]
    let mask = unsafe {
        let sixteen = _mm_loadu_si128(sixteen.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_set1_epi8(wanted.cast_signed())))
    };
    mask.cast_unsigned()
}

/// Returns the offset of the first quote or backslash among the first bytes of `rest`. If they contain neither,
/// returns the number of checked bytes as the error.
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

/// Returns the offset of the first quote or backslash among the first bytes of `rest`. If they contain neither,
/// returns the number of checked bytes as the error.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn first(rest: &[u8]) -> Result<usize, usize> {
    let rest = &rest[..rest.len().min(16)];
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(rest.len())
}

/// Returns a bit for each byte that equals `wanted`; the first byte has the lowest bit.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn matches(block: &[u8; 64], wanted: u8) -> u64 {
    // Each matching byte becomes its bit within a group of eight; compilers vectorize this loop.
    let mut weights = [0u8; 64];
    for (index, byte) in block.iter().enumerate() {
        weights[index] = if *byte == wanted { 1 << (index % 8) } else { 0 };
    }
    let mut groups = [0u8; 8];
    for (group, eight) in groups.iter_mut().zip(weights.as_chunks::<8>().0) {
        // The multiplication adds all eight bytes in the highest byte.
        *group = (u64::from_le_bytes(*eight).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u8;
    }
    u64::from_le_bytes(groups)
}

/// Returns a bit for each escaped byte of a block; `backslashes` has a bit for each backslash. `carried` is 1
/// if the first byte is escaped. The function sets it to 1 if the byte after the block is escaped.
///
/// In a run of backslashes, every second byte after the start is escaped. One subtraction handles all runs at
/// once, because its carry passes through each run. The method is simdjson's.
#[inline]
fn escapes(backslashes: u64, carried: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let starts = backslashes & !*carried;
    let codes = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    let escaped = codes ^ (backslashes | *carried);
    *carried = (codes & backslashes) >> 63;
    escaped
}
