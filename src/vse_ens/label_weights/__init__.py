"""Label weights: the label-label matrix of EASE, or its sparse form, learned from known pairs."""

from vse_ens.label_weights.closed_form import check_cost as check_cost
from vse_ens.label_weights.closed_form import dense_label_weights as dense_label_weights
from vse_ens.label_weights.gram import gram_matrix as gram_matrix
from vse_ens.label_weights.learn import learn_label_weights as learn_label_weights
from vse_ens.label_weights.pairs import PairSource as PairSource
from vse_ens.label_weights.sparse import sparse_label_weights as sparse_label_weights
