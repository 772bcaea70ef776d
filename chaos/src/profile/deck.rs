//! Deals from a shuffled deck, so that each card comes equally often. Pure.

use crate::random::Random;

#[derive(Debug)]
pub(super) struct Deck<C> {
    cards: Vec<C>,
    left: Vec<C>,
}

impl<C: Copy> Deck<C> {
    pub(super) fn new(cards: &[C]) -> Self {
        Self { cards: cards.to_vec(), left: Vec::new() }
    }

    pub(super) fn deal(&mut self, random: &mut Random) -> C {
        if self.left.is_empty() {
            self.left.clone_from(&self.cards);
            random.shuffle(&mut self.left);
        }
        self.left.pop().expect("invariant: no deck is empty")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_once_before_any_comes_again_and_the_seed_says_when() {
        let deal = |seed| {
            let (mut deck, mut random) = (Deck::new(&[1, 2, 3, 4, 5]), Random::new(seed));
            let mut hand = || (0..5).map(|_| deck.deal(&mut random)).collect::<Vec<_>>();
            [hand(), hand()]
        };
        for mut hand in deal(7) {
            hand.sort_unstable();
            assert_eq!(hand, [1, 2, 3, 4, 5]);
        }
        assert_eq!(deal(7), deal(7));
        assert_ne!(deal(7), deal(8));
    }
}
