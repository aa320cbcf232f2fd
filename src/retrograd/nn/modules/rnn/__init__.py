"""Recurrent layers over whole sequences, and their cells, which are one step in time."""

from .cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from .layers import GRU, LSTM, RNN, RNNBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
