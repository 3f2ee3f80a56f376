"""Every table, column and config of the package: the only place that names one.

`tables` has what a run passes between its stages, as Arrow types; `configs` what it publishes, as `datasets.Features`;
`descriptions` the meaning of columns and reasons.
"""

from edos_dataset.schema.configs import AMT_SEED as AMT_SEED
from edos_dataset.schema.configs import BOOK_CONFIGS as BOOK_CONFIGS
from edos_dataset.schema.configs import BOOK_LANGUAGES as BOOK_LANGUAGES
from edos_dataset.schema.configs import CONFIGS as CONFIGS
from edos_dataset.schema.configs import EDOS_LABELS as EDOS_LABELS
from edos_dataset.schema.configs import EXTENDED as EXTENDED
from edos_dataset.schema.configs import LABELS_ONLY as LABELS_ONLY
from edos_dataset.schema.configs import LAST_TURN_LABEL_CONFIGS as LAST_TURN_LABEL_CONFIGS
from edos_dataset.schema.configs import REGISTRY as REGISTRY
from edos_dataset.schema.configs import SCRIPTS as SCRIPTS
from edos_dataset.schema.configs import SPLITS as SPLITS
from edos_dataset.schema.configs import TURN_LABEL_CONFIGS as TURN_LABEL_CONFIGS
from edos_dataset.schema.configs import Config as Config
from edos_dataset.schema.configs import Labels as Labels
from edos_dataset.schema.configs import arrow_schema as arrow_schema
from edos_dataset.schema.configs import books_config as books_config
from edos_dataset.schema.configs import features as features
from edos_dataset.schema.configs import list_of as list_of
from edos_dataset.schema.configs import schema_of_features as schema_of_features
from edos_dataset.schema.descriptions import REASONS as REASONS
from edos_dataset.schema.descriptions import Column as Column
from edos_dataset.schema.descriptions import describe as describe
from edos_dataset.schema.descriptions import meaning as meaning
from edos_dataset.schema.tables import ANSWERS as ANSWERS
from edos_dataset.schema.tables import BLOCK as BLOCK
from edos_dataset.schema.tables import BOOK_DIALOGUES as BOOK_DIALOGUES
from edos_dataset.schema.tables import BOOK_SOURCE as BOOK_SOURCE
from edos_dataset.schema.tables import BOOK_TURN as BOOK_TURN
from edos_dataset.schema.tables import BOOKS as BOOKS
from edos_dataset.schema.tables import DETAIL as DETAIL
from edos_dataset.schema.tables import DIALOGUES as DIALOGUES
from edos_dataset.schema.tables import DIFFERING as DIFFERING
from edos_dataset.schema.tables import ENCODED as ENCODED
from edos_dataset.schema.tables import FILE as FILE
from edos_dataset.schema.tables import FILMS as FILMS
from edos_dataset.schema.tables import KEPT_FILE as KEPT_FILE
from edos_dataset.schema.tables import KEY as KEY
from edos_dataset.schema.tables import KEYED_TURN as KEYED_TURN
from edos_dataset.schema.tables import LABEL_FIELDS as LABEL_FIELDS
from edos_dataset.schema.tables import LABELLED as LABELLED
from edos_dataset.schema.tables import LABELLED_BOOK_TURN as LABELLED_BOOK_TURN
from edos_dataset.schema.tables import LABELLED_TURN as LABELLED_TURN
from edos_dataset.schema.tables import LINE as LINE
from edos_dataset.schema.tables import LINES as LINES
from edos_dataset.schema.tables import MARKED as MARKED
from edos_dataset.schema.tables import MARKED_SENTENCE as MARKED_SENTENCE
from edos_dataset.schema.tables import OF_REJECTS as OF_REJECTS
from edos_dataset.schema.tables import READ_BOOKS as READ_BOOKS
from edos_dataset.schema.tables import READING as READING
from edos_dataset.schema.tables import REASON as REASON
from edos_dataset.schema.tables import SENTENCES as SENTENCES
from edos_dataset.schema.tables import SOURCE as SOURCE
from edos_dataset.schema.tables import TOP as TOP
from edos_dataset.schema.tables import TURN as TURN
from edos_dataset.schema.tables import TURNS as TURNS
from edos_dataset.schema.tables import keyed as keyed
from edos_dataset.schema.tables import labelled as labelled
