// keeps: deciders-pure
//! How much more a claim survives. Pure.

/// How many further members may forget a claim that `votes` of `members` confirm for, of which `need`
/// are enough, before another can win them too.
///
/// Another wins with `need` members. It finds `members − votes` that do not confirm us, and those
/// that forget us: `need − (members − votes)` must forget, and one less is survived.
pub(crate) const fn margin(votes: usize, need: usize, members: usize) -> usize {
    (votes + need).saturating_sub(members + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Votes, need, members, and what is survived.
    const TABLE: [(usize, usize, usize, usize); 15] = [
        (1, 1, 1, 0),
        (2, 2, 3, 0),
        (3, 2, 3, 1),
        (3, 3, 4, 1),
        (4, 3, 4, 2),
        (3, 3, 5, 0),
        (4, 3, 5, 1),
        (5, 3, 5, 2),
        (4, 4, 7, 0),
        (7, 4, 7, 3),
        // All of them: each single one keeps others out.
        (2, 2, 2, 1),
        (3, 3, 3, 2),
        (5, 5, 5, 4),
        // Lost: nothing is survived any more.
        (1, 2, 3, 0),
        (0, 3, 5, 0),
    ];

    #[test]
    fn margins_are_those_of_the_table() {
        for (votes, need, members, expected) in TABLE {
            assert_eq!(margin(votes, need, members), expected, "{votes} of {members}");
        }
    }

    /// The same by trying: after so many amnesias no other finds `need` members, after one more
    /// it does.
    #[test]
    fn one_amnesia_more_than_the_margin_lets_another_win() {
        for members in 1..=9 {
            for need in members / 2 + 1..=members {
                for votes in need..=members {
                    let free_after = |amnesias| members - votes + amnesias;
                    let margin = margin(votes, need, members);
                    assert!(free_after(margin) < need, "{votes} of {members}");
                    assert!(free_after(margin + 1) >= need, "{votes} of {members}");
                }
            }
        }
    }
}
