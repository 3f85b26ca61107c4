//! What freeing nodes brings, for what it damages: the terms of `minBenefit`.
//!
//! A *step* leads from one plan to one that frees more nodes. It brings the allocatable cards of the larger plan's
//! freed nodes beyond those of the smaller one's, and it damages as many cards as the larger plan damages beyond the
//! smaller one. It is *worth it* for a least benefit b when it brings at least b cards for each that it damages; one that
//! damages nothing more is worth it unless it frees fewer cards, which is possible where nodes are of unequal size.
//!
//! Units: whole cards of the target resource.
//!
//! May import: (nothing of this crate)

/// From one plan to one that frees more nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Nodes that the larger plan frees beyond the smaller one, at least 1.
    pub nodes: usize,
    /// Allocatable cards on them; negative when the larger plan frees more, but smaller nodes.
    pub cards: i64,
    /// Cards that the larger plan damages beyond the smaller one; negative when it damages fewer.
    pub damaged: i64,
}

impl Step {
    /// At least `least` cards for each that is damaged. Whoever asks for less is content with all that others are
    /// content with.
    pub fn is_worth_it(&self, least: i64) -> bool {
        i128::from(self.cards) >= i128::from(least) * i128::from(self.damaged.max(0))
    }

    /// The largest `least` that the step is worth; `None` when that has no end.
    pub const fn most_asked(&self) -> Option<i64> {
        if self.damaged > 0 { Some(self.cards.div_euclid(self.damaged)) } else { None }
    }
}

/// How far it is worth it to free nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Benefit {
    /// Cards asked for per damaged card, at least 1.
    pub least: i64,
    /// Nodes freed when nothing more is worth it.
    pub freed: usize,
    /// Allocatable cards on them.
    pub cards: i64,
    /// Cards damaged for that.
    pub damaged: i64,
    /// The first step that is not worth it; `None` when all are that can be made.
    pub next: Option<Step>,
}

impl Benefit {
    /// Why no further node is freed, with the numbers: a clause.
    pub fn clause(&self) -> String {
        let Some(step) = self.next else { return "every node that can be freed is worth it".to_owned() };
        let which = match (self.freed, step.nodes) {
            (0, 1) => "the first node".to_owned(),
            (0, several) => format!("the first {several} nodes"),
            (_, 1) => "the next node".to_owned(),
            (_, several) => format!("the next {several} nodes"),
        };
        format!("{which} would bring {}", step.clause(self.least))
    }
}

impl Step {
    /// What it brings, what it damages and what was asked for: a clause.
    pub fn clause(&self, least: i64) -> String {
        let Self { cards, damaged, .. } = *self;
        let plural = if cards == 1 { "" } else { "s" };
        format!("{cards} card{plural} for {damaged} damaged, and {least} for each are asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(cards: i64, damaged: i64) -> Step {
        Step { nodes: 1, cards, damaged }
    }

    #[test]
    fn a_step_is_worth_it_from_so_many_cards_per_damaged_card_on() {
        assert!(step(8, 4).is_worth_it(2) && !step(7, 4).is_worth_it(2));
        assert_eq!((step(8, 4).most_asked(), step(7, 4).most_asked()), (Some(2), Some(1)));
        assert!(!step(8, 12).is_worth_it(1));
        // The product of what files may say does not fit into 64 bits.
        assert!(!step(8, i64::MAX / 2).is_worth_it(i64::MAX));
    }

    #[test]
    fn a_step_that_damages_nothing_more_is_worth_it_unless_it_frees_fewer_cards() {
        for least in [1, 2, i64::MAX] {
            assert!(step(8, 0).is_worth_it(least) && step(8, -3).is_worth_it(least));
            assert!(step(0, 0).is_worth_it(least) && !step(-1, -3).is_worth_it(least));
        }
        assert_eq!(step(8, -3).most_asked(), None);
    }

    #[test]
    fn the_clause_has_the_numbers() {
        let benefit = |freed, next| Benefit { least: 2, freed, cards: 8, damaged: 3, next }.clause();
        insta::assert_snapshot!(benefit(1, Some(step(8, 12))), @"the next node would bring 8 cards for 12 damaged, and 2 for each are asked for");
        let wide = Step { nodes: 3, cards: 1, damaged: 9 };
        insta::assert_snapshot!(benefit(0, Some(wide)), @"the first 3 nodes would bring 1 card for 9 damaged, and 2 for each are asked for");
        insta::assert_snapshot!(benefit(1, None), @"every node that can be freed is worth it");
    }
}
