//! Cases in curl's format, of our own.

use super::*;

fn text(command: &str, data: &str, rest: &str) -> String {
    format!(
        "<testcase>\n<reply>\n<datacheck>\nno\n</datacheck>\n{data}\n</reply>\n<client>\n<server>\nhttp\n</server>\n\
         <command>\n{command}\n</command>\n</client>\n<verify>\n{rest}\n</verify>\n</testcase>\n"
    )
}

const GET: &str = "http://%HOSTIP:%HTTPPORT/%TESTNUMBER";

#[test]
fn a_plain_get_is_a_case_with_its_reply_and_its_exit_code() {
    let data = "<data crlf=\"headers\" nonewline=\"yes\">\nHTTP/1.1 200 %TESTNUMBER\nX: a%TAB\n b\nLength:%SP6\n\n-foo-\n</data>";
    let one = case(7, &text(GET, data, "<errorcode>\n56\n</errorcode>")).unwrap();
    let reply = "HTTP/1.1 200 7\r\nX: a\t\r\n b\nLength: 6\r\n\r\n-foo-";
    assert_eq!((one.number, one.exit_code, String::from_utf8(one.reply).unwrap().as_str()), (7, 56, reply));
    let data = "<data>\nHTTP/1.0 200 OK%CR\n%if x\nA: b\n%else\nC: d%CR\n%endif\n%repeat[3 x %7a]%%hex[%00y]hex% 5%2%CR\n</data>";
    let one = case(8, &text(&format!("-i {GET} -o %LOGDIR/out"), data, "")).unwrap();
    assert_eq!((one.exit_code, one.reply.as_slice()), (0, &b"HTTP/1.0 200 OK\r\nC: d\r\nzzz\0y 5%2\r\n"[..]));
}

#[test]
fn what_is_more_than_a_plain_get_is_no_case() {
    let data = "<data>\nHTTP/1.1 200 OK\n</data>";
    assert!(case(1, &text(GET, data, "")).is_some());
    for command in ["GET -d body", "ftp://%HOSTIP/", "GET GET", "GET -L", "-o out", ""] {
        assert!(case(1, &text(&command.replace("GET", GET), data, "")).is_none(), "{command}");
    }
    for data in ["", "<data>\n%b64[x]b64%\n</data>", "<data>\nx\n</data>\n<servercmd>\nidle\n</servercmd>"] {
        assert!(case(1, &text(GET, data, "")).is_none(), "{data}");
    }
}
