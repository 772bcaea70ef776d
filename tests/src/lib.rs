//! Tests of palisade on real servers, in `it`, and the process that plays a contender in them.
