"""The order of one overfull bucket of a java.util.HashMap, which Java stores as a red-black tree.

An iteration follows the links between the keys, not the tree; but a new key is linked after its parent in the tree, and
the tree's root comes first. So the order depends on the tree's shape.

Source: the behaviour of java.util.HashMap (OpenJDK 8 to 21).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class _Node(Generic[Key]):
    __slots__ = ("hash", "key", "left", "parent", "red", "right")

    def __init__(self, key: Key, hash_value: int) -> None:
        self.key = key
        self.hash = hash_value
        self.parent: _Node[Key] | None = None
        self.left: _Node[Key] | None = None
        self.right: _Node[Key] | None = None
        self.red = True


class TreeBucket(Generic[Key]):
    """Keys of one bucket; ``order`` is their iteration order.

    Args:
        keys: the keys of the bucket as a list, in order.
        hash_of: the hash of a key after HashMap has spread it, as a signed 32-bit number.
        tie_of: a sort key for keys with equal hashes.
    """

    def __init__(self, keys: Iterable[Key], hash_of: Callable[[Key], int], tie_of: Callable[[Key], Any]) -> None:
        self.order: list[Key] = list(keys)
        self._hash_of = hash_of
        self._tie_of = tie_of
        self._root: _Node[Key] | None = None
        for key in self.order:
            self._insert(key)
        self._root_first()

    def add(self, key: Key) -> None:
        """Add a new key."""
        parent = self._insert(key)
        place = 0 if parent is None else self.order.index(parent.key) + 1
        self.order.insert(place, key)
        self._root_first()

    def _root_first(self) -> None:
        if self._root is not None and self.order[0] != self._root.key:
            self.order.remove(self._root.key)
            self.order.insert(0, self._root.key)

    def _insert(self, key: Key) -> _Node[Key] | None:
        """Insert a key into the tree; returns its parent."""
        node = _Node(key, self._hash_of(key))
        parent, below = None, self._root
        goes_left = False
        while below is not None:
            parent = below
            if node.hash == below.hash:
                goes_left = self._tie_of(key) <= self._tie_of(below.key)
            else:
                goes_left = node.hash < below.hash
            below = below.left if goes_left else below.right
        node.parent = parent
        if parent is None:
            self._root = node
        elif goes_left:
            parent.left = node
        else:
            parent.right = node
        self._balance(node)
        return parent

    def _balance(self, node: _Node[Key]) -> None:
        """Restore the red-black rules above a new node."""
        while node.parent is not None and node.parent.red:
            parent = node.parent
            grand = parent.parent
            assert grand is not None  # the root is black
            uncle = grand.right if parent is grand.left else grand.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grand.red = True
                node = grand
                continue
            if (parent is grand.left) != (node is parent.left):
                self._rotate(parent, to_left=node is parent.right)
                node, parent = parent, node
            parent.red = False
            grand.red = True
            self._rotate(grand, to_left=parent is grand.right)
        assert self._root is not None
        self._root.red = False

    def _rotate(self, node: _Node[Key], *, to_left: bool) -> None:
        child = node.right if to_left else node.left
        assert child is not None
        moved = child.left if to_left else child.right
        if to_left:
            node.right, child.left = moved, node
        else:
            node.left, child.right = moved, node
        if moved is not None:
            moved.parent = node
        child.parent = node.parent
        if node.parent is None:
            self._root = child
        elif node.parent.left is node:
            node.parent.left = child
        else:
            node.parent.right = child
        node.parent = child
