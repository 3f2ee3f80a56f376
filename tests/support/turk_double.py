"""A double of Mechanical Turk's API: it checks every request by the service model that botocore has, keeps HITs,
assignments and bonuses, counts what is paid, and refuses, delays or cuts requests as told.
"""

import json
import re
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

import botocore.session
from botocore.validate import ParamValidator

MODEL = botocore.session.get_session().get_service_model("mturk")
_PATTERNS = {"Reward": r"[0-9]+(\.)?[0-9]{0,2}", "BonusAmount": r"[0-9]+(\.)?[0-9]{0,2}"}


class Turk:
    """The state: `faults` is a list of (operation, fault) that are met in turn: "refuse", "throttle", "cut before" and
    "cut after" the work is done.
    """

    def __init__(self):
        self.hits, self.assignments, self.bonuses, self.types, self.enough = {}, {}, [], {}, []
        self.tokens, self.faults, self.asked, self.bad = {}, [], Counter(), []
        self.page = 2
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: _Handler(self, *given))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def fault_of(self, operation):
        for place, (name, fault) in enumerate(self.faults):
            if name == operation:
                del self.faults[place]
                return fault
        return ""

    def answer(self, note, worker, fields, status="Submitted"):
        """Submit a form as a worker."""
        hit = next(hit for hit in self.hits.values() if hit["RequesterAnnotation"].endswith(note))
        number = f"A{len(self.assignments):029d}"
        xml = "".join(
            f"<Answer><QuestionIdentifier>{escape(name)}</QuestionIdentifier><FreeText>{escape(text)}</FreeText></Answer>"
            for name, text in fields.items()
        )
        space = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
        self.assignments[number] = {
            "AssignmentId": number,
            "WorkerId": worker,
            "HITId": hit["HITId"],
            "AssignmentStatus": status,
            "SubmitTime": time.time(),
            "Answer": f'<?xml version="1.0"?><QuestionFormAnswers xmlns="{space}">{xml}</QuestionFormAnswers>',
        }
        return number

    def listed(self, key, rows, body):
        start = int(body.get("NextToken", "0"))
        rows = list(rows)
        found = {key: rows[start : start + self.page], "NumResults": len(rows[start : start + self.page])}
        return found | ({"NextToken": str(start + self.page)} if start + self.page < len(rows) else {})

    def do(self, operation, body):
        return getattr(self, operation)(body)

    def CreateHIT(self, body):  # noqa: N802 - the API's name
        token = body.get("UniqueRequestToken")
        if token in self.tokens:
            raise Refused(f"The HIT {self.tokens[token]} already exists", "AWS.MechanicalTurk.HITAlreadyExists")
        name = f"3HIT{len(self.hits):026d}"
        kept = ("RequesterAnnotation", "MaxAssignments", "Reward", "Title", "Question", "QualificationRequirements")
        self.hits[name] = {"HITId": name, "HITStatus": "Assignable", **{key: body[key] for key in kept if key in body}}
        self.tokens[token] = name
        return {"HIT": {"HITId": name}}

    def ListHITs(self, body):  # noqa: N802
        return self.listed("HITs", self.hits.values(), body)

    def ListAssignmentsForHIT(self, body):  # noqa: N802
        return self.listed(
            "Assignments", (one for one in self.assignments.values() if one["HITId"] == body["HITId"]), body
        )

    def SendBonus(self, body):  # noqa: N802
        token = body.get("UniqueRequestToken")
        if token in self.tokens:
            raise Refused("This bonus was granted by request 7c2", "AWS.MechanicalTurk.DuplicateRequest")
        one = self.assignments[body["AssignmentId"]]
        if one["WorkerId"] != body["WorkerId"]:
            raise Refused("no assignment of this worker", "AWS.MechanicalTurk.InvalidAssignment")
        self.tokens[token] = "bonus"
        self.bonuses.append(body)
        return {}

    def ListBonusPayments(self, body):  # noqa: N802
        asked = body.get("AssignmentId")
        rows = (
            one
            for one in self.bonuses
            if asked == one["AssignmentId"] or self.assignments[one["AssignmentId"]]["HITId"] == body.get("HITId")
        )
        return self.listed("BonusPayments", rows, body)

    def GetAccountBalance(self, body):  # noqa: N802
        return {"AvailableBalance": "10000.00"}

    def ListQualificationTypes(self, body):  # noqa: N802
        return self.listed("QualificationTypes", self.types.values(), body)

    def CreateQualificationType(self, body):  # noqa: N802
        if body["Name"] in {one["Name"] for one in self.types.values()}:
            raise Refused("a type of this name exists", "AWS.MechanicalTurk.QualificationTypeAlreadyExists")
        name = f"Q{len(self.types)}"
        self.types[name] = {"QualificationTypeId": name, "Name": body["Name"]}
        return {"QualificationType": self.types[name]}

    def AssociateQualificationWithWorker(self, body):  # noqa: N802
        self.enough.append(body["WorkerId"])
        return {}


class Refused(Exception):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def faults_of(operation, body):
    """Return what is wrong with a request by the service model: members, types, lengths, enumerations, patterns."""
    shape = MODEL.operation_model(operation).input_shape
    report = ParamValidator().validate(body, shape)
    wrong = [report.generate_report()] if report.has_errors() else []
    for name, value in body.items():
        member = shape.members.get(name)
        if member is None:
            wrong.append(f"no member {name}")
        elif member.type_name == "string":
            if value == "" or len(value) > member.metadata.get("max", 10**6):
                wrong.append(f"{name} has {len(value)} characters")
            if member.enum and value not in member.enum:
                wrong.append(f"{name} is {value}")
        if name in _PATTERNS and not re.fullmatch(_PATTERNS[name], value):
            wrong.append(f"{name} is {value}")
    for need in body.get("QualificationRequirements", []):
        kind = MODEL.shape_for("QualificationRequirement").members["Comparator"]
        if need["Comparator"] not in kind.enum:
            wrong.append(f"comparator {need['Comparator']}")
    if operation == "CreateHIT" and len(body["Question"].encode()) > 65_535:
        wrong.append("the question is too large")
    return wrong


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, turk, *given):
        self.turk = turk
        super().__init__(*given)

    def do_POST(self):  # noqa: N802
        operation = self.headers["X-Amz-Target"].partition(".")[2]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turk = self.turk
        turk.asked[operation] += 1
        fault = turk.fault_of(operation)
        if fault == "cut before":
            return self._cut()
        if fault == "throttle":
            return self._reply(400, {"__type": "ThrottlingException", "message": "Rate exceeded"})
        if fault == "refuse":
            return self._refuse("There is not enough money", "AWS.MechanicalTurk.InsufficientFunds")
        if wrong := faults_of(operation, body):
            turk.bad.append((operation, wrong))
            return self._refuse("; ".join(wrong), "AWS.MechanicalTurk.ParameterValidationError")
        try:
            found = turk.do(operation, body)
        except Refused as error:
            return self._refuse(str(error), error.code)
        return self._cut() if fault == "cut after" else self._reply(200, found)

    def _refuse(self, message, code):
        self._reply(400, {"__type": "RequestError", "Message": message, "TurkErrorCode": code})

    def _reply(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _cut(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, *given):
        pass
