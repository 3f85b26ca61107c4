use super::*;

fn group(name: &str, cards: u64) -> Block {
    Block { holder: Holder::Group(name.to_owned()), cards }
}

fn fixed(cards: u64) -> Block {
    Block { holder: Holder::Unmovable, cards }
}

fn row(node: &str, capacity: u64, blocks: Vec<Block>) -> Row {
    let used: u64 = blocks.iter().map(|block| block.cards).sum();
    Row { node: node.to_owned(), capacity, hole: capacity - used, blocks, ..Row::default() }
}

/// Twenty nodes: one to free, two receivers, five idle, twelve full.
fn twenty() -> Picture {
    let mut freed = row("npu-03", 8, vec![group("team-a/train", 3), group("team-a/eval", 1)]);
    freed.moves = vec![
        ("team-a/train".to_owned(), "npu-09".to_owned()),
        ("team-a/eval".to_owned(), "npu-07".to_owned()),
    ];
    let mut small = row("npu-07", 8, vec![group("team-b/x", 4), group("team-b/y", 2)]);
    small.receives = 1;
    let mut kept = row("npu-09", 8, vec![group("team-c/z", 2), fixed(1)]);
    kept.receives = 3;
    kept.note = "kept (DaemonSet pod holds 1 card)".to_owned();
    let mut rows = vec![kept, small, freed];
    rows.extend((12..17).map(|i| row(&format!("npu-{i}"), 8, Vec::new())));
    for i in 20..32 {
        let mut full = row(&format!("npu-{i}"), 8, vec![group("team-d/big", 8)]);
        full.cordoned = i == 20;
        rows.push(full);
    }
    Picture {
        resource: "huawei.com/ascend-1980".to_owned(),
        totals: Totals {
            nodes: 20,
            occupied: 15,
            optimum: 14,
            optimum_exact: true,
            rate: "5.0".to_owned(),
            free_cards: 51,
            largest_job: Some((5, 8)),
        },
        rows,
        hidden: 0,
    }
}

fn drawn(picture: &Picture, drawing: Drawing) -> String {
    picture.draw(drawing, &mut Letters::default())
}

const ASCII: Drawing = Drawing { glyphs: Glyphs::Ascii, wide: false, summary: false, headers: true };

#[test]
fn a_small_cluster_fits_one_screen() {
    insta::assert_snapshot!(drawn(&twenty(), ASCII), @"
    huawei.com/ascend-1980   20 nodes, 15 occupied, optimum 14, rate 5.0%   51 cards free, largest job now 5x8
    NODE     CARDS      HOLE   STATE
    npu-03   aaab....   4      would be freed: a -> npu-09, b -> npu-07
    npu-07   ccccdd..   2      receives 1 card
    npu-09   ee#.....   5      kept (DaemonSet pod holds 1 card), receives 3 cards
    npu-12   ........   8      idle, like 4 more
    + 12 full nodes (1 cordoned), 0 hidden    letters = pod groups (legend with -o wide)    # = cannot move
    ");
}

#[test]
fn the_order_of_the_input_changes_nothing() {
    let mut picture = twenty();
    picture.rows.reverse();
    assert_eq!(drawn(&picture, ASCII), drawn(&twenty(), ASCII));
}

#[test]
fn unicode_changes_arrows_and_dots_and_nothing_else() {
    let unicode = Drawing { glyphs: Glyphs::Unicode, ..ASCII };
    let text = drawn(&twenty(), unicode);
    assert!(text.contains("a → npu-09"), "{text}");
    assert_eq!(text.replace('→', "->"), drawn(&twenty(), ASCII));
}

#[test]
fn summary_is_the_first_line() {
    let text = drawn(&twenty(), Drawing { summary: true, ..ASCII });
    assert_eq!(text.lines().count(), 1);
    let mut open = twenty();
    open.totals.optimum_exact = false;
    open.totals.largest_job = None;
    insta::assert_snapshot!(
        drawn(&open, Drawing { summary: true, ..ASCII }),
        @"huawei.com/ascend-1980   20 nodes, 15 occupied, optimum 14+, rate 5.0%   51 cards free"
    );
}

#[test]
fn wide_draws_every_node_and_the_legend() {
    let mut picture = twenty();
    picture.rows.retain(|row| !["npu-14", "npu-15", "npu-16"].contains(&row.node.as_str()));
    picture.rows.truncate(6);
    picture.hidden = 2;
    insta::assert_snapshot!(drawn(&picture, Drawing { wide: true, ..ASCII }), @"
    huawei.com/ascend-1980   20 nodes, 15 occupied, optimum 14, rate 5.0%   51 cards free, largest job now 5x8
    NODE     CARDS      HOLE   STATE
    npu-03   aaab....   4      would be freed: a -> npu-09, b -> npu-07
    npu-07   ccccdd..   2      receives 1 card
    npu-09   ee#.....   5      kept (DaemonSet pod holds 1 card), receives 3 cards
    npu-20   ffffffff   0      cordoned
    npu-12   ........   8      idle
    npu-13   ........   8      idle
    2 hidden    letters = pod groups (legend below)    # = cannot move

    LETTER   PODGROUP
    a        team-a/train
    b        team-a/eval
    c        team-b/x
    d        team-b/y
    e        team-c/z
    f        team-d/big
    ");
}

#[test]
fn a_node_wider_than_16_cards_is_written_as_runs() {
    let mut picture = twenty();
    picture.rows = vec![
        row("rack-1", 64, vec![group("a/a", 12), group("b/b", 4), fixed(2)]),
        row("rack-2", 16, vec![group("a/a", 15)]),
    ];
    insta::assert_snapshot!(drawn(&picture, ASCII), @"
    huawei.com/ascend-1980   20 nodes, 15 occupied, optimum 14, rate 5.0%   51 cards free, largest job now 5x8
    NODE     CARDS               HOLE   STATE
    rack-1   12a 4b 2# 46. x64   46     -
    rack-2   aaaaaaaaaaaaaaa.    1      -
    + 0 full nodes, 0 hidden    letters = pod groups (legend with -o wide)    # = cannot move
    ");
}

#[test]
fn a_large_cluster_shows_its_holes_and_the_twenty_most_useful_nodes() {
    let mut picture = twenty();
    for i in 0..60 {
        let mut row = row(&format!("part-{i:02}"), 8, vec![group("team-e/many", 1 + i % 7)]);
        row.pool = if i < 30 { "old".to_owned() } else { "new".to_owned() };
        picture.rows.push(row);
    }
    picture.rows.retain(|row| row.hole != 5 || row.takes_part());
    let text = drawn(&picture, ASCII);
    let (histogram, rows) = text.split_once("\n\n").unwrap();
    insta::assert_snapshot!(histogram, @"
    huawei.com/ascend-1980   20 nodes, 15 occupied, optimum 14, rate 5.0%   51 cards free, largest job now 5x8
    POOL     HOLE   NODES
    <none>   0      12
    <none>   2      1
    <none>   4      1
    <none>   5      1
    <none>   8      5
    new      1      4
    new      2      4
    new      3      4
    new      4      5
    new      6      4
    new      7      4
    old      1      4
    old      2      4
    old      3      4
    old      4      4
    old      6      5
    old      7      5
    ");
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.len(), 1 + USEFUL_ROWS + 2, "{rows:#?}");
    assert!(rows[1].starts_with("npu-03") && rows[2].starts_with("npu-09") && rows[4].contains("part-00"));
    let holes: Vec<u64> = rows[4..=USEFUL_ROWS]
        .iter()
        .map(|row| row.split_whitespace().nth(2).unwrap().parse().unwrap())
        .collect();
    assert!(holes.is_sorted_by(|a, b| a >= b), "{holes:?}");
    insta::assert_snapshot!(rows[USEFUL_ROWS + 1], @"... and 39 more (-o wide)");
}

#[test]
fn the_27th_group_and_all_after_it_share_a_star() {
    let mut letters = Letters::default();
    let drawn: String = (0..28).map(|i| letters.of(&format!("g/{i:02}"))).collect();
    assert_eq!(drawn, "abcdefghijklmnopqrstuvwxyz**");
    assert_eq!(letters.of("g/00"), 'a');
}

#[test]
fn the_letters_of_a_second_picture_are_those_of_the_first() {
    let mut letters = Letters::default();
    twenty().draw(ASCII, &mut letters);
    let mut after = twenty();
    after.rows = vec![row("npu-09", 8, vec![group("team-c/z", 2), fixed(1), group("team-a/train", 3)])];
    let text = after.draw(ASCII, &mut letters);
    assert!(text.contains("ee#aaa.."), "{text}");
}
