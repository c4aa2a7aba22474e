"""Writes encrypted-footer.parquet and encrypted-column.parquet: one with an encrypted footer, and one whose footer is plain and whose column `secret` is encrypted. Needs pyarrow."""
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe


class Keys(pe.KmsClient):
    """A service of keys that hides nothing."""

    def __init__(self, _):
        super().__init__()

    def wrap_key(self, key, _):
        return key.hex().encode()

    def unwrap_key(self, key, _):
        return bytes.fromhex(key.decode())


table = pa.table({"id": [1, 2], "secret": ["a", "b"]})
factory = pe.CryptoFactory(Keys)
for name, plain in [("encrypted-footer", False), ("encrypted-column", True)]:
    config = pe.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["secret"]}, plaintext_footer=plain)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    with pq.ParquetWriter(f"{sys.argv[1]}/{name}.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
