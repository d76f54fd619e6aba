"""Why soft answers win: what a product of experts gains over Bradley-Terry, in two parts.

K calls ask both orders of K/2 pairs. Three rankings come from the same answers, and of each
Spearman's correlation with people, r:

    soft      PoE-BT on the mean of both orders' probabilities,
    averaged  Bradley-Terry on decisions that are taken on that mean,
    each      Bradley-Terry on a decision of every call, which is all that a deciding judge gives,

    r(soft) - r(each)  =  [r(soft) - r(averaged)]  +  [r(averaged) - r(each)]
         gain          =          margin           +      cancellation.

*Margin* is what it is worth to know by how much a text won; *cancellation* what it is worth to take
the position bias out before a decision falls. All are means over draws of calls and attributes
within a context, and then over contexts.

Declared before any of this was computed here (data/margin-expected.toml has our guesses, cell by
cell). A cell is a judge, a data set and a prompt; "few" is two calls a text. Counted are the cells
of judges that rank better than chance with the papers' prompt: 15 cells. Some numbers were known
by then, since a reader had computed them with code of their own and told us; they are marked there:
of the papers' prompt all but SmolLM2's on SummEval, both parts of SmolLM2's comparative-2, and the
margins of Qwen's comparative-1, comparative-2 and numbers on TopicalChat. Known as well were the
first-place rates, from data/results/*-wording.csv. New are the other prompts, the parts that are
not marked, the curves between, and both tests below.

 1. Margin is above 0 with few calls in at least 12 of 15 cells.
 2. Margin is smaller with all calls than with few in at least 13 of 15, and at most 0 with all
    calls in at least 10 of 15.
 3. A judge leans where it prefers one place in three quarters of its calls or more (9 cells).
    Cancellation with few calls is above 0 in at least 8 of those 9, and larger in their mean than
    in that of the other six.
 4. Cancellation stays: with all calls it is at least half of what it is with few, in at least 6
    of the 9.
 5. Over the 15 cells cancellation with few calls and the distance of the first-place rate from a
    half have a Spearman correlation above 0.3.
 6. "Margin > 0" and "cancellation > 0" with few calls, each over all 15 cells: means over prompts
    within a judge and data set, and then over these three. Contexts and prompts are both taken as
    drawn at random, by a crossed (pigeonhole) bootstrap (Owen 2007). Both p-values, by Holm's rule
    for two tests, are below .05.

Theory. The gain with few calls of one attribute in one cell is predicted from three numbers, which
half of its contexts tell: its lean, |share of calls that prefer the first place - 1/2|; the
information that the size of the averaged log odds (in quartiles) has about whether people agree
with its sign, in bits; and c, the correlation of the errors of both orders. A linear rule in these
three is fitted to the gains of the other cells (all but this judge, data set and prompt) on their
first halves, and scored on this cell's second half. The theory succeeds where its root mean square
error over all attributes of all cells is at least 10% below that of the best constant in hindsight,
which is the mean of the very numbers it is scored on. Reported beside it, without a rule: the same
for margin and for cancellation, and with the other judge's cells only to learn from.
"""

from __future__ import annotations
