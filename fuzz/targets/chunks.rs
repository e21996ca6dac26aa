//! Cutting an input into pieces, the way a network does: anyhow.

/// The pieces of `input`, cut at places that the two bytes of `seed` decide.
pub fn cut(input: &[u8], seed: [u8; 2]) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(u16::from_le_bytes(seed)) | 1;
    let mut rest = input;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Mostly short pieces; those are the ones that fall between a CR and its LF.
        let wanted = 1 + (state >> 16) as usize % if state & 0x100 == 0 { 3 } else { 40 };
        let (piece, later) = rest.split_at(wanted.min(rest.len()));
        rest = later;
        Some(piece)
    })
}

/// The seed in front of an input, and the input.
pub fn seeded(data: &[u8]) -> Option<([u8; 2], &[u8])> {
    let (seed, input) = data.split_first_chunk::<2>()?;
    Some((*seed, input))
}
