"""Which of a decoder's methods reads a construct: the same for the decoder of a message and for specialized loops."""

from abc import ABC, abstractmethod

from construct import Construct

from ..wire import Absent, Blob, Boolean, CountedArray, Fixed, NullableRecord, RecordStruct, Text, UuidConstruct
from .decoder_functions import INTERNED_CODES
from .source import GeneratedSource


class ValueReadWriter(ABC):
    """Emits the read of one value; subclasses say how each kind of value is read.

    ``interning``: the same number is to be the same object wherever it stands.
    """

    source: GeneratedSource
    interning: bool

    def value(self, construct: Construct) -> str:
        """Emit the read of one value; give the expression that holds it once what is pending is read."""
        match construct:
            case Boolean():
                return self.fixed("?")
            case Fixed():
                name = self.fixed(construct.code)
                return f"interned[{name}]" if self.interning and construct.code in INTERNED_CODES else name
            case UuidConstruct():
                return self.fixed("16s")
            case Absent():
                return self.source.literal(construct.default)
            case Text():
                return self.text(construct)
            case Blob():
                return self.blob(construct)
            case CountedArray():
                return self.array(construct)
            case NullableRecord():
                return self.nullable_record(construct)
            case RecordStruct():
                return self.record(construct)
        raise NotImplementedError(construct)

    @abstractmethod
    def fixed(self, code: str, stem: str = "v") -> str:
        """Have a value of fixed width read, which struct has ``code`` for; give its variable."""

    @abstractmethod
    def text(self, construct: Text) -> str:
        """A string."""

    @abstractmethod
    def blob(self, construct: Blob) -> str:
        """Bytes."""

    @abstractmethod
    def array(self, construct: CountedArray) -> str:
        """An array."""

    @abstractmethod
    def nullable_record(self, construct: NullableRecord) -> str:
        """A record that may be null."""

    @abstractmethod
    def record(self, construct: RecordStruct) -> str:
        """A record."""
