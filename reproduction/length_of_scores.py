"""Length: how far a judge's scores of SummEval go with the number of words, and without it.

Let s be a judge's scores of the texts of an article, from all its calls by PoE-BT or as expected
marks, and w the logarithms of the numbers of words, both less their means in the article. One
coefficient b = sum s w / sum w^2 of all articles, which needs no label and no further call, takes
the length out: s - b w. Compared are Spearman's correlations with people of s and of s - b w, means
over articles, and of s and of people's scores with w.

Declared before any of this was computed here. Known by then, since a reader had computed them with
code of their own and told us: Qwen's scores correlate with length by +46 to +58 (marks +40 to
+50), people's by -10 for coherence and +8 to +13 for the others; without length Qwen's coherence
gains 5.3 +- 2.9 (comparisons, 30 articles), 6.6 +- 2.2 (marks), 11.0 +- 4.0 (comparative-1) and
10.3 +- 4.3 (comparative-2); the others move by -3.3 to +1.8, and SmolLM2 has at most +9 of length and
nothing to gain. New are Qwen's numbers and words, and every attribute of SmolLM2 by itself.

 1. All of Qwen's scores but with `words`, where it is at chance, have a correlation with length
    above +20.
 2. Without length Qwen agrees better with people about coherence with every prompt (poe,
    comparative-1, comparative-2, numbers, marks), words left out.
 3. No gain or loss about another attribute is clear (Holm, over all rows).
 4. SmolLM2's correlations with length lie within 15 of zero and its gains within 3.
"""

from __future__ import annotations
