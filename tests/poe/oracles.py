"""Sums that tests of poe put beside its own, written out once and without its help."""

import numpy as np
from scipy.special import logit

POSITION = -1.0  # what a bias adds to a difference, by unit


def design(c, *, bias=False):
    """(K, N - 1) rows of W without the first item, whose score is then 0; a bias comes last."""
    x = c.matrix()[:, 1:]
    return np.column_stack([x, np.full(len(c), POSITION)]) if bias else x


def centred(found):
    """Scores of mean zero from those of all items but the first."""
    scores = np.append(0.0, found)
    return scores - scores.mean()


def logistic(c, *, bias=False):
    """Scores, and the bias, of unpenalised logistic regression: an answer is a win and a loss."""
    from sklearn.linear_model import LogisticRegression

    w = design(c, bias=bias)
    x, y = np.vstack([w, w]), np.repeat([1, 0], len(c))
    weight = np.concatenate([c.weight * c.p, c.weight * (1 - c.p)])
    keep = weight > 0
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-13, max_iter=10_000)
    model.fit(x[keep], y[keep], sample_weight=weight[keep])
    found = model.coef_[0]
    return (centred(found[:-1]), found[-1]) if bias else centred(found)


def anchored(n, pairs, weight=None, anchor=0, precision=1.0):
    """W-tilde' S^-1 W-tilde, written out row by row."""
    pairs = np.asarray(pairs)
    w = np.vstack([np.eye(n)[[anchor]], np.eye(n)[pairs[:, 0]] - np.eye(n)[pairs[:, 1]]])
    scale = np.append(precision, np.ones(len(pairs)) if weight is None else weight)
    return w.T @ np.diag(scale) @ w


def spread(matrix):
    """Variances of all differences, A_ii + A_jj - 2 A_ij for A the inverse of the matrix."""
    a = np.linalg.inv(matrix)
    return np.diag(a)[:, None] + np.diag(a) - 2 * a


def every(n):
    """All N (N - 1) ordered pairs."""
    return np.argwhere(~np.eye(n, dtype=bool))


class LogCosh:
    """Log cosh around the log odds, a density of area pi: an expert without help of the package."""

    def energy(self, d, p):
        return np.logaddexp(d - logit(p), logit(p) - d)

    def slope(self, d, p):
        return np.tanh(d - logit(p))

    def curvature(self, d, p):
        tail = np.exp(-2.0 * np.abs(d - logit(p)))
        return 4.0 * tail / (1.0 + tail) ** 2

    def log_density(self, d, p):
        return -self.energy(d, p) - np.log(np.pi / 2.0)
